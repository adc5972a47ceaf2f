"""Losses as modules: one row of the table each."""
import functools

from weft.nn import functional as F
from weft.nn.functional_module import FunctionalModule, functional_module
from weft.nn.functions.loss import reduction_of


class _Loss(FunctionalModule):
    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.reduction = reduction_of(settings.get("size_average"), settings.get("reduce"),
                                      self.reduction)

    def forward(self, *inputs):
        # The old arguments have become the reduction.
        settings = {name: getattr(self, name) for name in self._settings
                    if name not in ("size_average", "reduce")}
        return type(self)._function(*inputs, **settings)


_OLD = {"size_average": None, "reduce": None, "reduction": "mean"}
_loss = functools.partial(functional_module, __name__, base=_Loss)

CrossEntropyLoss = _loss(
    "CrossEntropyLoss", F.cross_entropy,
    "Of logits [N, C] or [N, C, ...] and whole numbers [N] or [N, ...], or probabilities.",
    buffers=("weight",), weight=None, size_average=None, ignore_index=-100, reduce=None,
    reduction="mean", label_smoothing=0.0)
NLLLoss = _loss(
    "NLLLoss", F.nll_loss, "CrossEntropyLoss of logarithms of probabilities.",
    buffers=("weight",), weight=None, size_average=None, ignore_index=-100, reduce=None,
    reduction="mean")
NLLLoss2d = type("NLLLoss2d", (NLLLoss,), {"__module__": __name__,
                                           "__doc__": "An old name of NLLLoss."})
MSELoss = _loss("MSELoss", F.mse_loss, "(input - target)^2.", **_OLD)
L1Loss = _loss("L1Loss", F.l1_loss, "|input - target|.", **_OLD)
BCELoss = _loss("BCELoss", F.binary_cross_entropy, "Of probabilities and targets in [0, 1].",
                buffers=("weight",), weight=None, **_OLD)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, "Of logits and targets in [0, 1].",
    buffers=("weight", "pos_weight"), weight=None, **_OLD, pos_weight=None)
SmoothL1Loss = _loss("SmoothL1Loss", F.smooth_l1_loss,
                     "Squares near 0, distances from beta on.", **_OLD, beta=1.0)
HuberLoss = _loss("HuberLoss", F.huber_loss, "Half the square up to delta, linear behind.",
                  reduction="mean", delta=1.0)
KLDivLoss = _loss("KLDivLoss", F.kl_div, "target (log target - input).", **_OLD, log_target=False)
PoissonNLLLoss = _loss("PoissonNLLLoss", F.poisson_nll_loss, "Of counts.", log_input=True,
                       full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean")
GaussianNLLLoss = _loss("GaussianNLLLoss", F.gaussian_nll_loss,
                        "Of values with means and variances.", full=False, eps=1e-6,
                        reduction="mean")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss,
                           "x, or max(0, margin - x).", margin=1.0, **_OLD)
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss,
                          "max(0, margin - target (input1 - input2)).", margin=0.0, **_OLD)
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", F.cosine_embedding_loss,
                            "1 - cos, or max(0, cos - margin).", margin=0.0, **_OLD)
TripletMarginLoss = _loss("TripletMarginLoss", F.triplet_margin_loss,
                          "max(0, d(anchor, positive) - d(anchor, negative) + margin).",
                          margin=1.0, p=2.0, eps=1e-6, swap=False, **_OLD)
TripletMarginWithDistanceLoss = _loss(
    "TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss,
    "TripletMarginLoss with a distance of one's own.", distance_function=None, margin=1.0,
    swap=False, reduction="mean")
MultiMarginLoss = _loss("MultiMarginLoss", F.multi_margin_loss,
                        "The target's class against each other one.", buffers=("weight",), p=1,
                        margin=1.0, weight=None, **_OLD)
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", F.multilabel_margin_loss,
                             "Each class of the target against each other one.", **_OLD)
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss,
    "The mean over classes of binary cross entropies.", buffers=("weight",), weight=None, **_OLD)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss, "log(1 + e^(-target x)).", **_OLD)


class CTCLoss(FunctionalModule):
    """Connectionist temporal classification."""

    _function = staticmethod(F.ctc_loss)
    _settings = {"blank": 0, "reduction": "mean", "zero_infinity": False}
