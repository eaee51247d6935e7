//! The support desk: tickets, agents, customers and service levels.

use super::{
    calendar::{days, written_minute},
    people::{Agent, CUSTOMERS, FIRST_CUSTOMER, TEAMS, agents, customers},
    random::Random,
    table::{Table, number, text},
};

const TICKETS: i64 = 3_600;
const MINUTES_A_DAY: i64 = 24 * 60;
/// Tickets of the first two months came from the desk that was used before; it kept no waiting times.
const MIGRATED_DAYS: i64 = 61;

/// Priority, its share of the tickets in percent, how long its tickets take in percent of the team's
/// mean, and its targets in minutes: first response, resolution.
const PRIORITIES: &[(&str, i64, i64, i64, i64)] = &[
    ("low", 25, 130, 480, 4_800),
    ("normal", 45, 100, 240, 2_400),
    ("high", 22, 80, 60, 1_200),
    ("urgent", 8, 50, 30, 600),
];

/// Mean minutes of work and of waiting on the customer. The sums rank the teams otherwise than the work
/// alone does: that is the story which the data tell.
fn pace(team: &str) -> (i64, i64) {
    match team {
        "Frontline" => (560, 110),
        "Billing" => (410, 2_700),
        "Technical" => (1_500, 900),
        "Onboarding" => (1_000, 700),
        _ => (1_250, 500),
    }
}

/// All tables of the source.
pub(crate) fn tables() -> Vec<Table> {
    let agents = agents();
    vec![tickets(&agents), agents_table(&agents), customers_table(), sla()]
}

#[derive(Default)]
struct Closing {
    status: &'static str,
    resolved: Option<i64>,
    elapsed: Option<i64>,
    waiting: Option<i64>,
    resolution: Option<i64>,
}

fn closing(random: &mut Random, opened: i64, work: i64, waiting: i64) -> Closing {
    let end = days() * MINUTES_A_DAY;
    let resolved = opened + work + waiting;
    let recent = opened > end - 120 * MINUTES_A_DAY;
    let unfinished = recent && random.chance(12);
    if resolved >= end || unfinished {
        let status = random.weighted("open", &[("open", 60), ("pending", 40)]);
        return Closing { status, ..Closing::default() };
    }
    if random.chance(2) {
        return Closing { status: "cancelled", ..Closing::default() };
    }
    let migrated = opened < MIGRATED_DAYS * MINUTES_A_DAY;
    Closing {
        status: "resolved",
        resolved: Some(resolved),
        elapsed: Some(work + waiting),
        waiting: (!migrated).then_some(waiting),
        resolution: (!migrated).then_some(work),
    }
}

fn opening_times(random: &mut Random) -> Vec<i64> {
    let mut times = Vec::new();
    while i64::try_from(times.len()).unwrap_or(i64::MAX) < TICKETS {
        let day = random.below(days());
        // The desk gets busier: the last day has twice the tickets of the first.
        if random.below(2 * days()) < days() + day {
            times.push(day * MINUTES_A_DAY + random.between(7 * 60, 21 * 60));
        }
    }
    times.sort_unstable();
    times
}

fn tickets(agents: &[Agent]) -> Table {
    let mut random = Random::new(0x5eed_0003);
    let shares: Vec<(&str, i64)> = TEAMS.iter().map(|(team, share, ..)| (*team, *share)).collect();
    let priorities: Vec<(usize, i64)> =
        PRIORITIES.iter().enumerate().map(|(at, priority)| (at, priority.1)).collect();
    let mut rows = Vec::new();
    for (opened, id) in opening_times(&mut random).into_iter().zip(50_001..) {
        let team = random.weighted("Frontline", &shares);
        let (priority, _, share, respond_in, resolve_in) =
            PRIORITIES.get(random.weighted(0, &priorities)).copied().unwrap_or_default();
        let (work, waiting) = pace(team);
        let work = random.skewed(work * share / 100);
        let waiting = random.skewed(waiting);
        let closing = closing(&mut random, opened, work, waiting);
        let seats: Vec<i64> =
            agents.iter().filter(|agent| agent.team == team).map(|agent| agent.id).collect();
        let first_response = random.skewed(respond_in * 3 / 5).min(work);
        let untouched = closing.status == "open" && random.chance(30);
        rows.push(vec![
            number(Some(id)),
            text(written_minute(opened)),
            closing.resolved.map_or(rusqlite::types::Value::Null, |at| text(written_minute(at))),
            text(team),
            number(Some(random.pick(&seats))),
            number(Some(FIRST_CUSTOMER + random.below(CUSTOMERS))),
            text(priority),
            text(random.weighted("email", &[("email", 40), ("chat", 25), ("phone", 20), ("web", 15)])),
            text(closing.status),
            number(closing.elapsed),
            number((!untouched).then_some(first_response)),
            number(closing.waiting),
            number(closing.resolution),
            number(closing.resolution.map(|minutes| i64::from(minutes > resolve_in))),
            number(Some(if random.chance(9) { random.between(1, 2) } else { 0 })),
        ]);
    }
    Table {
        name: "tickets",
        columns: &[
            ("ticket_id", "INTEGER PRIMARY KEY"),
            ("opened_at", "TIMESTAMP NOT NULL"),
            ("resolved_at", "TIMESTAMP"),
            ("team", "TEXT NOT NULL"),
            ("agent_id", "INTEGER NOT NULL"),
            ("customer_id", "INTEGER NOT NULL"),
            ("priority", "TEXT NOT NULL"),
            ("channel", "TEXT NOT NULL"),
            ("status", "TEXT NOT NULL"),
            ("elapsed_minutes", "INTEGER"),
            ("first_response_minutes", "INTEGER"),
            ("waiting_on_customer_minutes", "INTEGER"),
            ("resolution_minutes", "INTEGER"),
            ("sla_breached", "INTEGER"),
            ("reopen_count", "INTEGER NOT NULL"),
        ],
        rows,
    }
}

fn agents_table(agents: &[Agent]) -> Table {
    Table {
        name: "agents",
        columns: &[
            ("agent_id", "INTEGER PRIMARY KEY"),
            ("agent_name", "TEXT NOT NULL"),
            ("email", "TEXT NOT NULL"),
            ("phone", "TEXT NOT NULL"),
            ("team", "TEXT NOT NULL"),
            ("site", "TEXT NOT NULL"),
            ("hired_on", "DATE NOT NULL"),
            ("is_active", "INTEGER NOT NULL"),
        ],
        rows: agents
            .iter()
            .map(|agent| {
                vec![
                    number(Some(agent.id)),
                    text(&agent.name),
                    text(&agent.email),
                    text(&agent.phone),
                    text(agent.team),
                    text(agent.site),
                    text(&agent.hired),
                    number(Some(i64::from(agent.active))),
                ]
            })
            .collect(),
    }
}

fn customers_table() -> Table {
    Table {
        name: "customers",
        columns: &[
            ("customer_id", "INTEGER PRIMARY KEY"),
            ("company", "TEXT NOT NULL"),
            ("contact_name", "TEXT NOT NULL"),
            ("email", "TEXT NOT NULL"),
            ("phone", "TEXT NOT NULL"),
            ("segment", "TEXT NOT NULL"),
            ("region", "TEXT NOT NULL"),
            ("country", "TEXT NOT NULL"),
            ("created_on", "DATE NOT NULL"),
        ],
        rows: customers()
            .iter()
            .map(|customer| {
                vec![
                    number(Some(customer.id)),
                    text(&customer.name),
                    text(&customer.contact),
                    text(&customer.email),
                    text(&customer.phone),
                    text(customer.segment),
                    text(customer.region),
                    text(customer.country),
                    text(&customer.since),
                ]
            })
            .collect(),
    }
}

fn sla() -> Table {
    Table {
        name: "sla",
        columns: &[
            ("priority", "TEXT PRIMARY KEY"),
            ("first_response_target_minutes", "INTEGER NOT NULL"),
            ("resolution_target_minutes", "INTEGER NOT NULL"),
        ],
        rows: PRIORITIES
            .iter()
            .map(|(priority, _, _, respond_in, resolve_in)| {
                vec![text(*priority), number(Some(*respond_in)), number(Some(*resolve_in))]
            })
            .collect(),
    }
}
