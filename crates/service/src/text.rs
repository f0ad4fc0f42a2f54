//! The text of an answer, which can be reused for requests with different ids.
use serde_json::Value;
use sizewise_check::query::{self, Fields, Refusal};
use sizewise_expr::escape::json_text;
use std::sync::Arc;

/// The JSON text of an answer without the value of `id`, and the place of that value.
#[derive(Clone, Debug)]
pub struct Text {
    bytes: Arc<[u8]>,
    id_at: usize,
}

/// JSON text with invisible characters escaped.
fn text_of(value: &impl serde::Serialize) -> String {
    json_text(serde_json::to_string(value).unwrap_or_default())
}

impl Text {
    fn of(reply: &Fields) -> Text {
        let (mut bytes, mut id_at) = (vec![b'{'], 0);
        for (key, value) in reply {
            if bytes.len() > 1 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(text_of(&key.as_str()).as_bytes());
            bytes.push(b':');
            match key == "id" {
                true => id_at = bytes.len(),
                false => bytes.extend_from_slice(text_of(value).as_bytes()),
            }
        }
        bytes.push(b'}');
        Text { bytes: bytes.into(), id_at }
    }

    /// The text of an answer's fields.
    pub fn answer(fields: Fields) -> Text {
        Text::of(&query::reply(None, Ok(fields)))
    }

    /// The text of a refusal.
    pub fn refusal(refusal: Refusal) -> Text {
        Text::of(&query::reply(None, Err(refusal)))
    }

    /// Writes the whole answer to a request with this `id`.
    pub fn write(&self, id: &Value, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes[..self.id_at]);
        out.extend_from_slice(text_of(id).as_bytes());
        out.extend_from_slice(&self.bytes[self.id_at..]);
    }

    /// Its length in bytes, without the `id`.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}
