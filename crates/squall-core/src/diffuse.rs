//! Diffusion.
