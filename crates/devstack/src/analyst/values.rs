//! Values that the catalog's descriptions list, such as `low, normal, high or urgent`.

/// The values listed in a description; none when it lists none.
///
/// A list is what stands before `or`, separated by commas, after the last colon or at the start. What stands in
/// parentheses explains and is left out.
pub(crate) fn listed_values(description: &str) -> Vec<String> {
    let plain = without_parentheses(description);
    for sentence in plain.split(['.', ';']) {
        let list = sentence.rsplit_once(": ").map_or(sentence, |(_, list)| list);
        let Some((before, end)) = list.rsplit_once(" or ") else {
            continue;
        };
        let mut values: Vec<&str> = before.split(',').map(str::trim).collect();
        values.push(end.trim());
        let short = |value: &&str| {
            let words = value.split_whitespace().count();
            (1..=3).contains(&words)
        };
        if values.len() >= 2 && values.iter().all(short) {
            return values.into_iter().map(ToOwned::to_owned).collect();
        }
    }
    Vec::new()
}

fn without_parentheses(text: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0_usize;
    for sign in text.chars() {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(sign),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::listed_values;

    #[test]
    fn lists_are_found_and_prose_is_not() {
        assert_eq!(
            listed_values("Priority: low, normal, high or urgent."),
            ["low", "normal", "high", "urgent"]
        );
        assert_eq!(
            listed_values("open, pending, resolved or cancelled."),
            ["open", "pending", "resolved", "cancelled"]
        );
        assert_eq!(
            listed_values(
                "Where it is: EMEA (Europe, Middle East and Africa), AMER (the Americas) or APAC (Asia)."
            ),
            ["EMEA", "AMER", "APAC"]
        );
        assert!(listed_values("Number of the ticket.").is_empty());
        assert!(
            listed_values("The time from opening a ticket to the last reply of any person or of nobody.")
                .is_empty()
        );
    }
}
