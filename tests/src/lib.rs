//! Nothing of its own: the tests are under `tests/`.
