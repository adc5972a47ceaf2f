"""Data sets distilled to a few synthetic samples, and what federated training makes of them.

Members that keep their data train on synthetic samples of their own, and on ones that all share, in
place of the data (FedLGD). C. Huang et al., "Federated learning on virtual heterogeneous data with
local-global dataset distillation", TMLR 2025; B. Zhao and H. Bilen, "Dataset condensation with
distribution matching", WACV 2023; B. Zhao, K. R. Mopuri and H. Bilen, "Dataset condensation with
gradient matching", ICLR 2021; P. Khosla et al., "Supervised contrastive learning", NeurIPS 2020.
bindings/python/examples/federated_distillation.py puts them together."""
from weft.distillation.losses import (contrastive_loss, distribution_matching_loss,
                                      gradient_matching_loss)
from weft.distillation.synthetic import SyntheticSet, match_distribution, match_gradients

__all__ = ["SyntheticSet", "contrastive_loss", "distribution_matching_loss",
           "gradient_matching_loss", "match_distribution", "match_gradients"]
