"""A conditional VAE that generates climbing problems on the MoonBoard, with its data, grade classifier and board."""
