//! Thousands of statements put together at random: whatever a withheld column holds, a caller who may not see it gets the
//! same answer.

use std::sync::Arc;

use ask_executor::engine::Statement;
use ask_executor::refusal::{Code, Failure};
use serde_json::Value;

use crate::fixture::{Bench, LIMITS};

/// A small generator of numbers that gives the same ones on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// Writes statements that are mostly well formed, and about the withheld columns more often than not.
struct Writer {
    dice: Dice,
    depth: usize,
}

impl Writer {
    fn column(&mut self) -> String {
        let column =
            self.dice.pick(&["id", "name", "team", "email", "phone", "status", "region", "x", "agent_id"]);
        match self.dice.below(4) {
            0 => format!("{}.{column}", self.dice.pick(&["a", "b", "c", "agents", "t"])),
            1 => format!("support.agents.{column}"),
            _ => column.to_owned(),
        }
    }

    fn expression(&mut self) -> String {
        self.depth += 1;
        let written = match self.dice.below(if self.depth > 4 { 3 } else { 14 }) {
            0 | 1 => self.column(),
            2 => self.dice.pick(&["1", "'canary-ann@desk.test'", "NULL", "'a'"]).to_owned(),
            3 => format!("upper({})", self.expression()),
            4 => format!("({} || {})", self.expression(), self.expression()),
            5 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.expression(),
                self.expression(),
                self.expression()
            ),
            6 => format!("({})", self.query()),
            7 => format!("{} > {}", self.expression(), self.expression()),
            8 => format!("{} IN ({})", self.expression(), self.query()),
            9 => format!("EXISTS ({})", self.query()),
            10 => format!("coalesce({}, {})", self.expression(), self.expression()),
            11 => format!("{} LIKE {}", self.expression(), self.expression()),
            12 => format!("max({}) OVER (ORDER BY {})", self.column(), self.column()),
            _ => format!("length({})", self.expression()),
        };
        self.depth -= 1;
        written
    }

    fn table(&mut self) -> String {
        let alias = self.dice.pick(&["", " a", " AS b", " c", " AS \"t\""]);
        if self.depth > 3 {
            return format!("support.agents{alias}");
        }
        match self.dice.below(10) {
            0 => format!("support.customers{alias}"),
            1 => format!("support.tickets{alias}"),
            2 => format!("({}){alias}", self.query()),
            3 => format!("{}{alias}", self.dice.pick(&["w", "agents", "v"])),
            4 => format!("support.contact{alias}"),
            5 => format!("(SELECT 'canary-ann@desk.test' AS email, 1 AS id){alias}"),
            _ => format!("support.agents{alias}"),
        }
    }

    fn from(&mut self) -> String {
        let mut from = self.table();
        for _ in 0..self.dice.below(3) {
            let join = self.dice.pick(&["JOIN", "LEFT JOIN", "NATURAL JOIN", "CROSS JOIN", ",", "FULL JOIN"]);
            from = format!("{from} {join} {}", self.table());
            if join.ends_with("T JOIN") || join == "JOIN" || join == "FULL JOIN" {
                let condition = match self.dice.below(4) {
                    0 => format!(" USING ({})", self.dice.pick(&["id", "email", "name", "phone"])),
                    1 => format!(" ON {}", self.expression()),
                    _ => " ON 1 = 1".to_owned(),
                };
                from.push_str(&condition);
            }
        }
        from
    }

    fn select(&mut self) -> String {
        let columns = match self.dice.below(6) {
            0 | 1 => "*".to_owned(),
            2 => format!("{}.*", self.dice.pick(&["a", "b", "agents", "t", "support.agents"])),
            3 => format!("{} AS {}", self.expression(), self.dice.pick(&["email", "x", "name"])),
            4 => "count(*), min(id)".to_owned(),
            _ => format!("{}, {}", self.expression(), self.column()),
        };
        let mut select = format!("SELECT {columns} FROM {}", self.from());
        if self.dice.below(3) == 0 {
            select = format!("{select} WHERE {}", self.expression());
        }
        if self.dice.below(5) == 0 {
            select = format!("{select} GROUP BY {}", self.column());
        }
        select
    }

    fn query(&mut self) -> String {
        self.depth += 1;
        let mut query = self.select();
        if self.dice.below(6) == 0 {
            let operator = self.dice.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            query = format!("{query} {operator} {}", self.select());
        }
        if self.dice.below(5) == 0 {
            query = format!(
                "WITH {} AS ({}) {query}",
                self.dice.pick(&["w", "agents", "v(email)", "v"]),
                if self.depth > 3 { "SELECT * FROM support.agents".to_owned() } else { self.query() }
            );
        }
        if self.dice.below(4) == 0 {
            query = format!("{query} ORDER BY {}", self.column());
        }
        self.depth -= 1;
        query
    }
}

#[actix_web::test]
async fn what_a_withheld_column_holds_changes_no_answer() {
    let (one, other) = (Bench::new(), Bench::new());
    rusqlite::Connection::open(other.folder.path().join("support.db"))
        .unwrap()
        .execute_batch("UPDATE agents SET email = 'zzz' || (9 - id) || 'canary', phone = 9 - id;")
        .unwrap();
    let (engine, other_engine) = (one.engine(LIMITS), other.engine(LIMITS));
    let rights = Arc::new(one.rights(&["analyst"]));
    let mut writer = Writer { dice: Dice(0x5eed_1234_abcd_0001), depth: 0 };
    let (mut ran, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let statement = Statement { sql: writer.query(), source: None, max_rows: None };
        let here = engine.run(Arc::clone(&rights), statement.clone()).await;
        let there = other_engine.run(Arc::clone(&rights), statement.clone()).await;
        let sql = &statement.sql;
        match (here, there) {
            (Ok(here), Ok(there)) => {
                assert_eq!(here, there, "{sql}");
                let literals = sql.contains("canary-ann@desk.test");
                let text =
                    Value::from(here.rows.into_iter().map(Value::from).collect::<Vec<_>>()).to_string();
                assert!(literals || !text.to_lowercase().contains("canary"), "{sql}: {text}");
                ran += 1;
            }
            (Err(Failure::Refused(here)), Err(Failure::Refused(there))) => {
                assert_eq!(here, there, "{sql}");
                refused += usize::from(here.code == Code::Access);
            }
            (here, there) => panic!("{sql}\n{here:?}\n{there:?}"),
        }
    }
    assert!(
        ran > 200 && refused > 500,
        "{ran} ran and {refused} were refused: the statements are not varied enough"
    );
}
