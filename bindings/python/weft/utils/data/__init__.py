"""Datasets, samplers and the loader that makes batches of them, with PyTorch's names."""
from weft.utils.data import dataloader  # noqa: F401
from weft.utils.data.collate import default_collate, default_convert  # noqa: F401
from weft.utils.data.dataset import (  # noqa: F401
    ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset,
    random_split)
from weft.utils.data.loader import DataLoader  # noqa: F401
from weft.utils.data.sampler import (  # noqa: F401
    BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler,
    SubsetRandomSampler, WeightedRandomSampler)
from weft.utils.data.worker_info import get_worker_info  # noqa: F401
