//! Parameters by name, which can be read and changed while a simulation runs.
//!
//! Whoever has parameters shows them to a [`ParameterList`], always in the same order. One list serves reading and changing, so
//! that they cannot disagree.

/// What a parameter is, or is to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// One of several words.
    Choice(String),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Value::Choice(word.to_owned())
    }
}

/// Something that can be changed while a simulation runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// What it is called.
    pub name: String,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The least and the largest number that it may be.
    pub range: [f64; 2],
    /// The words that it may be; empty for a number.
    pub choices: Vec<&'static str>,
    /// What it is.
    pub value: Value,
}

impl Parameter {
    /// Whether it may have this value; why not.
    pub fn check(&self, value: &Value) -> Result<(), ParameterError> {
        let (name, range) = (self.name.clone(), self.range);
        match value {
            Value::Number(_) if !self.choices.is_empty() => {
                Err(ParameterError::NotAChoice { name, choices: self.choices.clone() })
            }
            // NaN is in no range.
            Value::Number(v) if *v >= range[0] && *v <= range[1] => Ok(()),
            Value::Number(value) => Err(ParameterError::OutOfRange { name, value: *value, range }),
            Value::Choice(_) if self.choices.is_empty() => Err(ParameterError::NotANumber { name }),
            Value::Choice(word) if self.choices.contains(&word.as_str()) => Ok(()),
            Value::Choice(_) => Err(ParameterError::NotAChoice { name, choices: self.choices.clone() }),
        }
    }
}

/// Why a parameter cannot be changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// There is none of that name.
    #[error("there is no parameter {name:?}; there are: {}", .known.join(", "))]
    Unknown {
        /// The name given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// It cannot change while a simulation runs.
    #[error("{name:?} cannot change while the simulation runs: {reason}")]
    Fixed {
        /// Which one.
        name: String,
        /// Why.
        reason: &'static str,
    },
    /// The number is too small, too large, or none.
    #[error("{name:?} must be from {} to {}, not {value}", .range[0], .range[1])]
    OutOfRange {
        /// Which one.
        name: String,
        /// The number given.
        value: f64,
        /// What it may be.
        range: [f64; 2],
    },
    /// The word is none of those that it may be, or it is no word.
    #[error("{name:?} must be one of {}", .choices.join(", "))]
    NotAChoice {
        /// Which one.
        name: String,
        /// The words that it may be.
        choices: Vec<&'static str>,
    },
    /// A word was given for a number.
    #[error("{name:?} must be a number")]
    NotANumber {
        /// Which one.
        name: String,
    },
}

/// Lists parameters, and changes one of them if that is asked for.
#[derive(Debug, Default)]
pub struct ParameterList<'a> {
    list: Vec<Parameter>,
    change: Option<(&'a str, &'a Value)>,
    outcome: Option<Result<(), ParameterError>>,
}

impl<'a> ParameterList<'a> {
    /// To change one.
    pub(crate) fn changing(name: &'a str, value: &'a Value) -> Self {
        ParameterList { change: Some((name, value)), ..ParameterList::default() }
    }

    /// All that were shown.
    pub(crate) fn into_list(self) -> Vec<Parameter> {
        self.list
    }

    /// Whether the change was made.
    pub(crate) fn into_outcome(self) -> Result<(), ParameterError> {
        let name = self.change.map_or_else(String::new, |(name, _)| name.to_owned());
        let known = || self.list.iter().map(|p| p.name.clone()).collect();
        self.outcome.unwrap_or_else(|| Err(ParameterError::Unknown { name, known: known() }))
    }

    /// Shows a number; returns what it is to be, if it is to change. The second one of a name is called `name_2`.
    pub fn number(
        &mut self,
        name: &str,
        unit: &'static str,
        doc: &'static str,
        range: [f64; 2],
        value: f64,
    ) -> Option<f64> {
        let name = self.unique(name);
        let parameter = Parameter { name, unit, doc, range, choices: Vec::new(), value: Value::Number(value) };
        match self.show(parameter)? {
            Value::Number(value) => Some(value),
            Value::Choice(_) => None,
        }
    }

    /// Shows one of several words, by its place; returns which it is to be, if it is to change.
    pub fn choice(&mut self, name: &str, doc: &'static str, choices: &[&'static str], value: usize) -> Option<usize> {
        let name = self.unique(name);
        let value = Value::from(choices[value]);
        let parameter = Parameter { name, unit: "", doc, range: [0.0; 2], choices: choices.to_vec(), value };
        match self.show(parameter)? {
            Value::Choice(word) => choices.iter().position(|c| *c == word),
            Value::Number(_) => None,
        }
    }

    /// Says that something cannot change, and why.
    pub fn fixed(&mut self, name: &str, reason: &'static str) {
        if self.wanted(name).is_some() {
            self.outcome = Some(Err(ParameterError::Fixed { name: name.to_owned(), reason }));
        }
    }

    fn wanted(&self, name: &str) -> Option<&'a Value> {
        self.change.filter(|(wanted, _)| *wanted == name).map(|(_, value)| value)
    }

    /// Adds it to the list; returns what it is to be, if it is to change and may be that.
    fn show(&mut self, mut parameter: Parameter) -> Option<Value> {
        let wanted = self.wanted(&parameter.name).cloned();
        let checked = wanted.map(|value| parameter.check(&value).map(|()| value));
        self.outcome =
            checked.as_ref().map(|checked| checked.as_ref().map(|_| ()).map_err(Clone::clone)).or(self.outcome.take());
        let changed = checked.and_then(Result::ok);
        parameter.value = changed.clone().unwrap_or(parameter.value);
        self.list.push(parameter);
        changed
    }

    fn unique(&self, name: &str) -> String {
        let is_taken = |name: &str| self.list.iter().any(|p| p.name == name);
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        std::iter::once(name.to_owned()).chain(numbered).find(|n| !is_taken(n)).unwrap_or_default()
    }
}
