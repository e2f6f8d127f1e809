//! Scene files, the run loop and the gallery of Squall.
