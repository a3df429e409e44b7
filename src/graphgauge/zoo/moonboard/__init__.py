"""A conditional VAE that sets climbing problems on the MoonBoard, its data, its grade classifier and its board."""
