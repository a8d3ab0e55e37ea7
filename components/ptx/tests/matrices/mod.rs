//! Matrix instructions: products of matrices as they lie in memory, by every shape and type, against sums of integers.
//!
//! Fragments of `mma` are loaded with `ldmatrix`, whose layout the manual gives by itself, and stored as the manual places the
//! elements of D; so that a wrong layout of A or B shows.

mod fragments;
mod numbers;
mod products;
