//! Files for Squall: images, movies, checkpoints.
