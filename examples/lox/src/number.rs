//! Numbers as text, and back.

/// As the shortest text that is read back as the same number; whole numbers have no point.
pub fn to_text(number: f64) -> String {
    format!("{number}")
}

/// The whole number in `0..len` that this is.
pub fn index(number: f64, len: usize) -> Option<usize> {
    let whole = number as usize;
    (whole as f64 == number && whole < len).then_some(whole)
}

/// Whole numbers below this are exact.
const MOST_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// `a % b`, with the sign of `a`. Whole numbers, which most are, need no long division.
pub fn remainder(a: f64, b: f64) -> f64 {
    let whole =
        |number: f64| Some(number as u64).filter(|&whole| whole as f64 == number && whole < MOST_EXACT);
    match (whole(a), whole(b)) {
        (Some(whole_a @ 1..), Some(whole_b @ 1..)) => (whole_a % whole_b) as f64,
        _ => a % b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_point() {
        assert_eq!([to_text(3.0), to_text(0.5), to_text(-1e20)], ["3", "0.5", "-100000000000000000000"]);
    }

    #[test]
    fn remainders_are_those_of_the_processor() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            7.0,
            -7.0,
            2.5,
            1e15,
            9e18,
            (1u64 << 63) as f64,
            1e300,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        for (a, b) in numbers.into_iter().flat_map(|a| numbers.map(|b| (a, b))) {
            assert_eq!(remainder(a, b).to_bits(), (a % b).to_bits(), "{a} {b}");
        }
    }

    #[test]
    fn an_index_is_whole_and_within() {
        assert_eq!(index(2.0, 3), Some(2));
        for wrong in [3.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(index(wrong, 3), None);
        }
    }
}
