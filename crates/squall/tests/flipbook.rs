//! Facts about passes and flipbooks.

mod flipbook {
    pub mod atlas;
    pub mod motion;
    pub mod passes;
}
