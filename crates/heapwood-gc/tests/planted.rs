//! Planted errors.
