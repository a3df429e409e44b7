"""What this library costs, beside its peers and beside one read of the input."""
