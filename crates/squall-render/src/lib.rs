//! Pictures from fluid fields.
