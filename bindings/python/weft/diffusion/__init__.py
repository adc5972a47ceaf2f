"""Flow matching, and decentralised diffusion models: experts that never exchange anything, and a
router that mixes what they give.

The data are split into clusters; each cluster belongs to an island, one machine or a swarm, that
trains an expert on it alone. A router, a classifier of noisy samples, says how likely each cluster
is; the sum of the experts' velocities, weighted so, is the velocity of the model of all data.
IMPLEMENTATION: Y. Lipman et al., "Flow matching for generative modeling", ICLR 2023; D. McAllister
et al., "Decentralized diffusion models", CVPR 2025, section 3."""
from weft.diffusion.clusters import Clusters, kmeans
from weft.diffusion.experts import Experts, router_loss
from weft.diffusion.flow import flow_matching_loss, noised, sample

__all__ = ["Clusters", "Experts", "flow_matching_loss", "kmeans", "noised", "router_loss", "sample"]
