"""Images: transforms, with the names that torchvision gives them."""
