//! The variables that make tests longer, or play a seed again (docs/testing.md).

/// Whether HEAPWOOD_THOROUGH=1 asks for what `.ci/long` plays: programs long enough that each comes to all that it is for, which is
/// then asserted. Without it a test asserts only what holds in each run, on any machine, under any load.
pub fn is_thorough() -> bool {
    is_long() || std::env::var_os("HEAPWOOD_THOROUGH").is_some_and(|value| value == "1")
}

/// Whether HEAPWOOD_LONG=1 asks for the long mode.
pub fn is_long() -> bool {
    std::env::var_os("HEAPWOOD_LONG").is_some_and(|value| value == "1")
}

/// The number that a variable holds, if it is set.
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

/// The first seed that an oracle plays.
pub fn first_seed() -> u64 {
    number("HEAPWOOD_ORACLE_SEED").unwrap_or(1)
}

/// How much an oracle plays: what the variable says, what the long mode wants, what the thorough one does, or little.
pub fn amount(variable: &str, long: usize, thorough: usize, little: usize) -> usize {
    let usual = if is_thorough() { thorough } else { little };
    number(variable).map_or(if is_long() { long } else { usual }, |n| n as usize)
}

/// A list of heaps, `ALL`, and a test for each, which calls a function with it. Shares of the work are of a hundred.
#[macro_export]
macro_rules! heaps {
    ($play:path, $settings:ident; $($name:ident = $heap:expr;)*) => {
        pub(crate) const ALL: &[$settings] = &[$($settings { name: stringify!($name), ..$heap }),*];

        $(
            #[test]
            fn $name() {
                $play(ALL.iter().find(|settings| settings.name == stringify!($name)).unwrap());
            }
        )*

        #[test]
        fn the_shares_are_a_hundred() {
            assert_eq!(ALL.iter().map(|settings| settings.share).sum::<usize>(), 100);
        }
    };
}
