//! Text becomes tokens, which borrow from it.

use super::error::LoxError;

/// What a token is. The variants have the names of the signs and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    LeftParen,
    RightParen,
    LeftBrace,
    RightBrace,
    LeftBracket,
    RightBracket,
    Comma,
    Colon,
    Dot,
    Minus,
    Plus,
    Semicolon,
    Slash,
    Star,
    Percent,
    Bang,
    BangEqual,
    Equal,
    EqualEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Name,
    Text,
    Number,
    And,
    Class,
    Else,
    False,
    For,
    Fun,
    If,
    Nil,
    Or,
    Print,
    Return,
    Super,
    This,
    True,
    Var,
    While,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: Kind,
    /// The text of it; of a text what is between the quotes.
    pub(super) text: &'t str,
    pub(super) line: u32,
}

pub(super) struct Scanner<'t> {
    rest: &'t str,
    line: u32,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Scanner { rest: text, line: 1 }
    }

    fn take(&mut self, kind: Kind, bytes: usize) -> Token<'t> {
        let (text, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        Token { kind, text, line: self.line }
    }

    fn skip_space(&mut self) {
        loop {
            let bytes = match self.rest.as_bytes() {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => 1,
                [b'/', b'/', ..] => self.rest.find('\n').unwrap_or(self.rest.len()),
                _ => return,
            };
            self.line += u32::from(self.rest.starts_with('\n'));
            self.rest = &self.rest[bytes..];
        }
    }

    /// The next token; at the end it is [`Kind::End`] each time.
    pub(super) fn next(&mut self) -> Result<Token<'t>, LoxError> {
        self.skip_space();
        let [first, behind @ ..] = self.rest.as_bytes() else { return Ok(self.take(Kind::End, 0)) };
        let equal = behind.first() == Some(&b'=');
        let token = match first {
            b'(' => self.take(Kind::LeftParen, 1),
            b')' => self.take(Kind::RightParen, 1),
            b'{' => self.take(Kind::LeftBrace, 1),
            b'}' => self.take(Kind::RightBrace, 1),
            b'[' => self.take(Kind::LeftBracket, 1),
            b']' => self.take(Kind::RightBracket, 1),
            b',' => self.take(Kind::Comma, 1),
            b':' => self.take(Kind::Colon, 1),
            b'.' => self.take(Kind::Dot, 1),
            b'-' => self.take(Kind::Minus, 1),
            b'+' => self.take(Kind::Plus, 1),
            b';' => self.take(Kind::Semicolon, 1),
            b'/' => self.take(Kind::Slash, 1),
            b'*' => self.take(Kind::Star, 1),
            b'%' => self.take(Kind::Percent, 1),
            b'!' if equal => self.take(Kind::BangEqual, 2),
            b'!' => self.take(Kind::Bang, 1),
            b'=' if equal => self.take(Kind::EqualEqual, 2),
            b'=' => self.take(Kind::Equal, 1),
            b'<' if equal => self.take(Kind::LessEqual, 2),
            b'<' => self.take(Kind::Less, 1),
            b'>' if equal => self.take(Kind::GreaterEqual, 2),
            b'>' => self.take(Kind::Greater, 1),
            b'"' => return self.text(),
            b'0'..=b'9' => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            _ => {
                let sign = self.rest.chars().next().unwrap_or_default();
                return Err(LoxError {
                    line: self.line,
                    message: format!("there is no sign '{}'", sign.escape_debug()),
                });
            }
        };
        Ok(token)
    }

    fn text(&mut self) -> Result<Token<'t>, LoxError> {
        let inside = &self.rest[1..];
        let Some(len) = inside.find('"') else {
            return Err(LoxError { line: self.line, message: "the text has no closing '\"'".into() });
        };
        let text = &inside[..len];
        let token = Token { text, ..self.take(Kind::Text, len + 2) };
        self.line += text.matches('\n').count() as u32;
        Ok(token)
    }

    fn number(&mut self) -> Token<'t> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(self.rest);
        let fraction = self.rest[whole..].strip_prefix('.').map_or(0, digits);
        self.take(Kind::Number, whole + if fraction > 0 { 1 + fraction } else { 0 })
    }

    fn word(&mut self) -> Token<'t> {
        let bytes = self.rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let kind = match &self.rest[..bytes] {
            "and" => Kind::And,
            "class" => Kind::Class,
            "else" => Kind::Else,
            "false" => Kind::False,
            "for" => Kind::For,
            "fun" => Kind::Fun,
            "if" => Kind::If,
            "nil" => Kind::Nil,
            "or" => Kind::Or,
            "print" => Kind::Print,
            "return" => Kind::Return,
            "super" => Kind::Super,
            "this" => Kind::This,
            "true" => Kind::True,
            "var" => Kind::Var,
            "while" => Kind::While,
            _ => Kind::Name,
        };
        self.take(kind, bytes)
    }
}
