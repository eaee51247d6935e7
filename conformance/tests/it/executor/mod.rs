//! Who checks the executor's checks: a right executor that they must pass, and faulty ones that they must fail.

mod cli;
mod faults;
mod judged;
mod mini;
