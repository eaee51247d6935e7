//! A small pseudo-random generator whose sequence never changes, so that the sample data are the same for ever.

/// `SplitMix64`: the same seed gives the same sequence on every platform and in every version.
///
/// Only integers come out of it: floating-point functions may differ in the last digit between platforms.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator that starts from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..bound`; 0 when `bound` is not positive.
    pub(crate) fn below(&mut self, bound: i64) -> i64 {
        let bound = u64::try_from(bound).unwrap_or(0).max(1);
        i64::try_from(self.next() % bound).unwrap_or(0)
    }

    /// A number in `low..=high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of 100 draws.
    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }

    /// A right-skewed duration or amount: never below a fifth of `mean`, seldom over three times it.
    pub(crate) fn skewed(&mut self, mean: i64) -> i64 {
        let product = self.below(1000) * self.below(1000);
        mean / 5 + mean * 16 / 5 * product / 1_000_000
    }

    /// One of `choices`, each as likely as its weight says.
    pub(crate) fn weighted<T: Copy>(&mut self, first: T, choices: &[(T, i64)]) -> T {
        let total = choices.iter().map(|(_, weight)| weight).sum();
        let mut left = self.below(total);
        for (choice, weight) in choices {
            if left < *weight {
                return *choice;
            }
            left -= weight;
        }
        first
    }

    /// One of `choices`, all equally likely; the default of `T` when there is none.
    pub(crate) fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        let at = self.below(i64::try_from(choices.len()).unwrap_or(0));
        usize::try_from(at).ok().and_then(|at| choices.get(at)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn skewed_keeps_its_mean() {
        let mut random = Random::new(7);
        let mean = (0..20_000).map(|_| random.skewed(1000)).sum::<i64>() / 20_000;
        assert!((970..1030).contains(&mean), "{mean}");
    }
}
