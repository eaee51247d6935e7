//! The customers and agents that the sample data are about; all invented.

use super::{
    calendar::{day, written_day},
    random::Random,
};

/// A customer, known to both sources by the same number.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) contact: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) segment: &'static str,
    pub(crate) region: &'static str,
    pub(crate) country: &'static str,
    pub(crate) since: String,
}

/// A support agent.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) team: &'static str,
    pub(crate) site: &'static str,
    pub(crate) hired: String,
    pub(crate) active: bool,
}

const GIVEN: &[&str] = &[
    "Aino", "Bruno", "Chidi", "Dalia", "Emre", "Farah", "Gita", "Hugo", "Ines", "Jonas", "Kiran", "Leila",
    "Mateo", "Nadia", "Omar", "Petra", "Quinn", "Rosa", "Sami", "Tomas", "Uma", "Viktor", "Wanda", "Yuki",
];
const FAMILY: &[&str] = &[
    "Abara", "Becker", "Costa", "Duarte", "Eklund", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kowal",
    "Lindgren", "Moreau", "Novak", "Okafor", "Perez", "Rossi", "Silva", "Tanaka", "Weber",
];
const FIRM: &[&str] = &[
    "Amber",
    "Birch",
    "Cobalt",
    "Delta",
    "Ember",
    "Fjord",
    "Granite",
    "Harbor",
    "Indigo",
    "Juniper",
    "Keystone",
    "Lumen",
    "Meridian",
    "Northwind",
    "Orchard",
    "Pioneer",
];
const TRADE: &[&str] = &[
    "Analytics",
    "Bakery",
    "Clinics",
    "Design",
    "Energy",
    "Foods",
    "Freight",
    "Hotels",
    "Instruments",
    "Labs",
    "Media",
    "Optics",
    "Pharma",
    "Robotics",
    "Textiles",
];

/// The teams, each with the share of tickets, the number of agents and the site.
pub(crate) const TEAMS: &[(&str, i64, i64, &str)] = &[
    ("Frontline", 34, 10, "Lisbon"),
    ("Billing", 18, 6, "Dublin"),
    ("Technical", 24, 7, "Austin"),
    ("Onboarding", 14, 4, "Lisbon"),
    ("Enterprise", 10, 3, "Singapore"),
];

/// How many customers there are.
pub(crate) const CUSTOMERS: i64 = 240;
/// The number of the first customer.
pub(crate) const FIRST_CUSTOMER: i64 = 1001;

fn person(at: i64) -> (&'static str, &'static str) {
    // 24 and 20 names: stepping the second one on every full round gives 480 different pairs.
    let at = usize::try_from(at).unwrap_or(0);
    let given = GIVEN.get(at % GIVEN.len()).copied().unwrap_or_default();
    let family = FAMILY.get((at + at / GIVEN.len() * 7) % FAMILY.len()).copied().unwrap_or_default();
    (given, family)
}

/// All customers, the same at every call.
pub(crate) fn customers() -> Vec<Customer> {
    let mut random = Random::new(0x5eed_0001);
    (0..CUSTOMERS)
        .map(|at| {
            let (given, family) = person(at + 40);
            let index = usize::try_from(at).unwrap_or(0);
            let firm = FIRM.get(index % FIRM.len()).copied().unwrap_or_default();
            let trade = TRADE.get(index % TRADE.len()).copied().unwrap_or_default();
            let region = random.weighted("EMEA", &[("EMEA", 45), ("AMER", 35), ("APAC", 20)]);
            let country = match region {
                "AMER" => random.pick(&["United States", "Canada", "Brazil", "Mexico"]),
                "APAC" => random.pick(&["Japan", "Australia", "India", "Singapore"]),
                _ => random.pick(&["Germany", "France", "Portugal", "Ireland", "Sweden", "Poland"]),
            };
            let segment = random
                .weighted("Small Business", &[("Small Business", 50), ("Mid-Market", 30), ("Corporate", 20)]);
            Customer {
                id: FIRST_CUSTOMER + at,
                name: format!("{firm} {trade}"),
                contact: format!("{given} {family}"),
                email: format!(
                    "{}.{}@{}{}.example",
                    given.to_lowercase(),
                    family.to_lowercase(),
                    firm.to_lowercase(),
                    trade.to_lowercase()
                ),
                phone: format!("+00 555 {:04}", 1000 + at),
                segment,
                region,
                country,
                since: written_day(day(-random.between(1, 1500))),
            }
        })
        .collect()
}

/// All agents, the same at every call.
pub(crate) fn agents() -> Vec<Agent> {
    let mut random = Random::new(0x5eed_0002);
    let seats = TEAMS.iter().flat_map(|(team, _, agents, site)| (0..*agents).map(move |_| (*team, *site)));
    seats
        .zip(0..)
        .map(|((team, site), at)| {
            let (given, family) = person(at);
            Agent {
                id: 101 + at,
                name: format!("{given} {family}"),
                email: format!("{}.{}@desk.example", given.to_lowercase(), family.to_lowercase()),
                phone: format!("+00 555 {:04}", 100 + at),
                team,
                site,
                hired: written_day(day(-random.between(30, 2000))),
                active: !random.chance(8),
            }
        })
        .collect()
}
