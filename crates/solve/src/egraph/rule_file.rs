//! Reader of rule files.
//!
//! A file is a sequence of lines. A line that begins with `#` is a comment. The comment lines directly above
//! a rule are its equation, and one of them may say `enumeration only: reason`. A rule is one line
//!
//! ```text
//! name: (// (* ?a ?c) (* ?b ?c)) => (// ?a ?b) if nonzero ?b, nonzero ?c
//! ```
//!
//! and may be continued on indented lines. Everything is checked here: operations and conditions are known
//! and have the right number and sort of operands, the variables of the right side and of the conditions
//! occur on the left, names are unique.
use super::condition::Condition;
use super::form::Form;
use super::pattern::{Operation, Pattern};
use super::rule::Rule;
use sizewise_expr::Sort;

/// A rule file that cannot be read: where, and what was expected there.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct RuleError {
    /// The name of the file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What was expected and what was found.
    pub message: String,
}

/// Nesting beyond this depth is refused.
const MAX_DEPTH: usize = 32;
/// The most variables of one rule.
const MAX_VARIABLES: usize = 8;
/// A comment line that begins so says why Z3 is not asked.
const ENUMERATION_ONLY: &str = "enumeration only:";

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Open,
    Close,
    Comma,
    Colon,
    Arrow,
    Variable(String),
    Word(String),
}

impl Token {
    fn describe(token: Option<&Token>) -> String {
        match token {
            None => "the end of the rule".to_string(),
            Some(Token::Open) => "`(`".to_string(),
            Some(Token::Close) => "`)`".to_string(),
            Some(Token::Comma) => "`,`".to_string(),
            Some(Token::Colon) => "`:`".to_string(),
            Some(Token::Arrow) => "`=>`".to_string(),
            Some(Token::Variable(name)) => format!("`?{name}`"),
            Some(Token::Word(word)) => format!("`{word}`"),
        }
    }
}

type Placed = (Token, usize, usize);

/// The rules of a file.
pub(super) fn parse(text: &str, file: &str) -> Result<Vec<Rule>, RuleError> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        if let Some(text) = line.trim_start().strip_prefix('#') {
            comment.push(text.trim());
            continue;
        }
        if line.trim().is_empty() {
            comment.clear();
            continue;
        }
        let mut tokens = Vec::new();
        tokenize(line, index + 1, &mut tokens);
        while let Some((index, more)) =
            lines.next_if(|(_, l)| l.starts_with([' ', '\t']) && !l.trim().is_empty())
        {
            tokenize(more, index + 1, &mut tokens);
        }
        let end = tokens.last().map_or((index + 1, 1), |t| (t.1, t.2 + 1));
        let mut parser = Parser { file, tokens, next: 0, end, variables: Vec::new(), sorts: Vec::new() };
        let rule = parser.rule(&comment, index + 1)?;
        if let Some(other) = rules.iter().find(|r| r.name == rule.name) {
            let message = format!("the name `{}` is taken by the rule in line {}", rule.name, other.line);
            return Err(RuleError { file: file.to_string(), line: index + 1, column: 1, message });
        }
        rules.push(rule);
        comment.clear();
    }
    Ok(rules)
}

fn tokenize(line: &str, number: usize, tokens: &mut Vec<Placed>) {
    let chars: Vec<char> = line.chars().collect();
    let mut i = 0;
    while i < chars.len() {
        let start = i;
        i += 1;
        let token = match chars[start] {
            c if c.is_whitespace() => continue,
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            ':' => Token::Colon,
            _ => {
                while i < chars.len() && !chars[i].is_whitespace() && !"(),:".contains(chars[i]) {
                    i += 1;
                }
                let word: String = chars[start..i].iter().collect();
                match word.strip_prefix('?') {
                    Some(name) if !name.is_empty() => Token::Variable(name.to_string()),
                    _ if word == "=>" => Token::Arrow,
                    _ => Token::Word(word),
                }
            }
        };
        tokens.push((token, number, start + 1));
    }
}

struct Parser<'a> {
    file: &'a str,
    tokens: Vec<Placed>,
    next: usize,
    end: (usize, usize),
    variables: Vec<String>,
    sorts: Vec<Option<Sort>>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|t| &t.0)
    }

    fn error_at<T>(&self, position: usize, message: String) -> Result<T, RuleError> {
        let (line, column) = self.tokens.get(position).map_or(self.end, |t| (t.1, t.2));
        Err(RuleError { file: self.file.to_string(), line, column, message })
    }

    fn expected<T>(&self, what: &str) -> Result<T, RuleError> {
        let found = Token::describe(self.peek());
        self.error_at(self.next, format!("expected {what}, found {found}"))
    }

    fn eat(&mut self, token: Token) -> Result<(), RuleError> {
        if self.peek() == Some(&token) {
            self.next += 1;
            return Ok(());
        }
        self.expected(&Token::describe(Some(&token)))
    }

    fn word(&mut self, what: &str) -> Result<String, RuleError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            _ => self.expected(what),
        }
    }

    fn rule(&mut self, comment: &[&str], line: usize) -> Result<Rule, RuleError> {
        let name = self.word("the name of a rule")?;
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            let message = format!("expected a name of letters, digits and `-`, found `{name}`");
            return self.error_at(0, message);
        }
        self.eat(Token::Colon)?;
        let is_annotation = |l: &&&str| l.starts_with(ENUMERATION_ONLY);
        let equation =
            comment.iter().filter(|l| !is_annotation(l)).copied().collect::<Vec<&str>>().join("\n");
        if equation.trim().is_empty() {
            return self.error_at(0, format!("expected a comment with the equation above the rule `{name}`"));
        }
        let enumeration_only =
            comment.iter().find(is_annotation).map(|l| l[ENUMERATION_ONLY.len()..].trim().to_string());
        let start = self.next;
        let left = self.term(None, true, 0)?;
        let Pattern::Call(op, _) = &left else {
            return self.error_at(start, "expected an operation as the left side".to_string());
        };
        let sort = op.sort();
        self.eat(Token::Arrow)?;
        let right = self.term(Some(sort), false, 0)?;
        let mut conditions = Vec::new();
        if self.peek().is_some() {
            if self.word("`if`")? != "if" {
                self.next -= 1;
                return self.expected("`if`");
            }
            loop {
                conditions.push(self.condition()?);
                if self.peek().is_none() {
                    break;
                }
                self.eat(Token::Comma)?;
            }
        }
        // A variable that only stands where any sort may stand is an integer; there is no such place today.
        let sorts = self.sorts.iter().map(|s| s.unwrap_or(Sort::Int)).collect();
        let form = Form::of(&left);
        Ok(Rule {
            name,
            equation,
            needs: form.needs(),
            form,
            left,
            right,
            conditions,
            variables: std::mem::take(&mut self.variables),
            sorts,
            enumeration_only,
            file: self.file.to_string(),
            line,
        })
    }

    fn condition(&mut self) -> Result<Condition, RuleError> {
        let start = self.next;
        let known = || Condition::names().collect::<Vec<_>>().join(", ");
        let name = self.word(&format!("a condition ({})", known()))?;
        let Some((count, sort)) = Condition::signature(&name) else {
            return self.error_at(start, format!("expected a condition ({}), found `{name}`", known()));
        };
        let mut operands = Vec::new();
        for _ in 0..count {
            operands.push(self.term(Some(sort), false, 0)?);
        }
        match Condition::new(&name, operands) {
            Some(condition) => Ok(condition),
            None => self.error_at(start, format!("expected {count} operands of `{name}`")),
        }
    }

    /// A term of a sort (`None`: either); variables may be new where `binds`.
    fn term(&mut self, sort: Option<Sort>, binds: bool, depth: usize) -> Result<Pattern, RuleError> {
        let start = self.next;
        if depth > MAX_DEPTH {
            return self.error_at(start, format!("expected terms nested at most {MAX_DEPTH} deep"));
        }
        let pattern = match self.peek().cloned() {
            Some(Token::Variable(name)) => {
                self.next += 1;
                return self.variable(name, start, sort, binds);
            }
            Some(Token::Word(word)) => {
                self.next += 1;
                match word.as_str() {
                    "true" => Pattern::Bool(true),
                    "false" => Pattern::Bool(false),
                    _ => match word.parse() {
                        Ok(value) => Pattern::Int(value),
                        Err(_) => {
                            return self.error_at(start, format!("expected a term, found `{word}`"));
                        }
                    },
                }
            }
            Some(Token::Open) => {
                self.next += 1;
                self.call(binds, depth)?
            }
            _ => return self.expected("a term"),
        };
        match (sort, pattern.sort()) {
            (Some(want), Some(got)) if want != got => {
                self.error_at(start, format!("expected {}, found {}", sort_name(want), sort_name(got)))
            }
            _ => Ok(pattern),
        }
    }

    fn call(&mut self, binds: bool, depth: usize) -> Result<Pattern, RuleError> {
        let start = self.next;
        let name = self.word("an operation")?;
        let Some(op) = Operation::named(&name) else {
            return self.error_at(start, format!("expected an operation, found `{name}`"));
        };
        let mut args = Vec::new();
        while self.peek() != Some(&Token::Close) {
            if self.peek().is_none() {
                return self.expected("`)`");
            }
            args.push(self.term(Some(op.operand_sort(args.len())), binds, depth + 1)?);
        }
        self.next += 1;
        let (fewest, most) = op.arity();
        if (fewest..=most).contains(&args.len()) {
            return Ok(Pattern::Call(op, args));
        }
        let wanted = if fewest == most { format!("{fewest}") } else { format!("{fewest} to {most}") };
        self.error_at(start, format!("expected {wanted} operands of `{name}`, found {}", args.len()))
    }

    fn variable(
        &mut self,
        name: String,
        at: usize,
        sort: Option<Sort>,
        binds: bool,
    ) -> Result<Pattern, RuleError> {
        let index = match self.variables.iter().position(|v| *v == name) {
            Some(index) => index,
            None if !binds => {
                return self.error_at(at, format!("expected a variable of the left side, found `?{name}`"));
            }
            None if self.variables.len() == MAX_VARIABLES => {
                return self.error_at(at, format!("expected at most {MAX_VARIABLES} variables"));
            }
            None => {
                self.variables.push(name.clone());
                self.sorts.push(None);
                self.variables.len() - 1
            }
        };
        match (self.sorts[index], sort) {
            (Some(known), Some(wanted)) if known != wanted => {
                let (wanted, known) = (sort_name(wanted), sort_name(known));
                return self.error_at(at, format!("expected {wanted}, but `?{name}` is {known}"));
            }
            (None, _) => self.sorts[index] = sort,
            _ => {}
        }
        Ok(Pattern::Var(index))
    }
}

fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Int => "an integer",
        Sort::Float => "a double",
        Sort::Bool => "a truth value",
    }
}
