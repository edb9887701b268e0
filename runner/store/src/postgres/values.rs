//! Values of parameters and columns.

use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::row::Value;

/// A parameter of any type.
#[derive(Debug)]
pub(super) struct Parameter<'a>(pub(super) &'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Value::Integer(value) => value.to_sql_checked(kind, out),
            Value::Real(value) => value.to_sql_checked(kind, out),
            Value::Text(text) => storable(text).to_sql_checked(kind, out),
            Value::Blob(bytes) => bytes.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Replaces the null character, which PostgreSQL cannot store and JSON lines never contain.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns the values of a row.
pub(super) fn values(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
    let value = |(place, column): (usize, &tokio_postgres::Column)| {
        let kind = column.type_();
        Ok(if *kind == Type::INT8 {
            row.try_get::<_, Option<i64>>(place)?.into()
        } else if *kind == Type::INT4 {
            row.try_get::<_, Option<i32>>(place)?.map(i64::from).into()
        } else if *kind == Type::FLOAT8 {
            row.try_get::<_, Option<f64>>(place)?.into()
        } else if *kind == Type::BYTEA {
            row.try_get::<_, Option<Vec<u8>>>(place)?.into()
        } else if *kind == Type::BOOL {
            row.try_get::<_, Option<bool>>(place)?.map(i64::from).into()
        } else if *kind == Type::VOID {
            Value::Null
        } else {
            row.try_get::<_, Option<String>>(place)?.into()
        })
    };
    row.columns().iter().enumerate().map(value).collect()
}
