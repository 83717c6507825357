//! Text to tokens. Invariant: a token borrows from the text, and the last one is [`Kind::End`].

use crate::program::Error;

/// What a token is. Words and signs are told apart by their text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Name,
    Keyword,
    Sign,
    Number,
    Text,
    End,
}

/// A token and its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind,
    /// For a text what is between the quotes.
    pub(crate) text: &'s str,
    pub(crate) line: u32,
}

const KEYWORDS: [&str; 16] = [
    "and", "class", "else", "false", "for", "fun", "if", "nil", "or", "print", "return", "super", "this",
    "true", "var", "while",
];

/// All tokens of a text.
pub(crate) fn scan(source: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (source, 1);
    loop {
        rest = blanks(rest, &mut line);
        let Some(first) = rest.chars().next() else { break };
        let (kind, length) = match first {
            '"' => {
                let end = rest[1..].find('"').ok_or_else(|| Error::new(line, "a text has no end"))?;
                (Kind::Text, end + 2)
            }
            '0'..='9' => (Kind::Number, number(rest)),
            _ if is_letter(first) => {
                let length = rest.find(|c: char| !is_letter(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
                let keyword = KEYWORDS.contains(&&rest[..length]);
                (if keyword { Kind::Keyword } else { Kind::Name }, length)
            }
            _ if ["==", "!=", "<=", ">="].iter().any(|two| rest.starts_with(two)) => (Kind::Sign, 2),
            _ if "(){}[],.:;+-*/%<>=!".contains(first) => (Kind::Sign, 1),
            _ => return Err(Error::new(line, format!("{first:?} is no sign of the language"))),
        };
        let (token, behind) = rest.split_at(length);
        let text = if kind == Kind::Text { &token[1..length - 1] } else { token };
        tokens.push(Token { kind, text, line });
        line += token.matches('\n').count() as u32;
        rest = behind;
    }
    tokens.push(Token { kind: Kind::End, text: "the end", line });
    Ok(tokens)
}

/// The text behind blanks and comments.
fn blanks<'s>(mut rest: &'s str, line: &mut u32) -> &'s str {
    loop {
        let behind = rest.trim_start();
        *line += rest[..rest.len() - behind.len()].matches('\n').count() as u32;
        rest = behind;
        if !rest.starts_with("//") {
            return rest;
        }
        rest = rest.find('\n').map_or("", |end| &rest[end..]);
    }
}

/// The length of the number at the start: digits, and others behind a point.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    match text[whole..].strip_prefix('.').map(digits) {
        Some(fraction @ 1..) => whole + 1 + fraction,
        _ => whole,
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_kinds_and_lines() {
        let tokens = scan("var a = 1.5; // so\nprint \"b\nc\" >= a.b;").unwrap();
        let kinds: Vec<(Kind, &str, u32)> = tokens.iter().map(|t| (t.kind, t.text, t.line)).collect();
        use Kind::*;
        let first = [(Keyword, "var", 1), (Name, "a", 1), (Sign, "=", 1), (Number, "1.5", 1), (Sign, ";", 1)];
        assert_eq!(kinds[..5], first);
        assert_eq!(kinds[5..8], [(Keyword, "print", 2), (Text, "b\nc", 2), (Sign, ">=", 3)]);
        assert_eq!(
            kinds[8..],
            [(Name, "a", 3), (Sign, ".", 3), (Name, "b", 3), (Sign, ";", 3), (End, "the end", 3)]
        );
    }

    #[test]
    fn mistakes_have_a_line() {
        assert_eq!(scan("\n\n\"open").unwrap_err().to_string(), "line 3: a text has no end");
        assert_eq!(scan("a ? b").unwrap_err().to_string(), "line 1: '?' is no sign of the language");
        assert_eq!(scan("7.").unwrap()[1].text, ".");
    }
}
