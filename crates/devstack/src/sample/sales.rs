//! The sales warehouse: order lines, products, customers and a summary that nobody should use any more.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use time::{Date, macros::date};

use super::{
    calendar::{day, days, written_day},
    people::{Customer, customers},
    random::Random,
    table::{Table, money, number, text},
};

const ORDERS: i64 = 2_600;
/// The summary was last loaded with this month.
const SUMMARY_END: Date = date!(2025 - 12 - 31);

/// Product, category and list price in cents.
const PRODUCTS: &[(&str, &str, i64)] = &[
    ("Harbor Dock 4", "Accessories", 8_900),
    ("Harbor Dock 8", "Accessories", 14_900),
    ("Slate Keyboard", "Accessories", 7_500),
    ("Slate Mouse", "Accessories", 3_900),
    ("Tern Headset", "Audio", 11_900),
    ("Tern Headset Pro", "Audio", 21_900),
    ("Wren Speaker", "Audio", 16_900),
    ("Wren Conference Bar", "Audio", 54_900),
    ("Fell Monitor 24", "Displays", 19_900),
    ("Fell Monitor 27", "Displays", 32_900),
    ("Fell Monitor 34 Wide", "Displays", 64_900),
    ("Fell Wall Panel", "Displays", 129_000),
    ("Skein Router", "Networking", 27_900),
    ("Skein Switch 8", "Networking", 15_900),
    ("Skein Switch 24", "Networking", 48_900),
    ("Skein Access Point", "Networking", 22_900),
    ("Cairn Drive 1T", "Storage", 9_900),
    ("Cairn Drive 4T", "Storage", 24_900),
    ("Cairn Vault 16T", "Storage", 89_000),
    ("Cairn Vault 48T", "Storage", 219_000),
    ("Heron Backup Licence", "Software", 12_000),
    ("Heron Desk Licence", "Software", 18_000),
    ("Heron Fleet Licence", "Software", 36_000),
    ("Heron Insight Licence", "Software", 60_000),
];

struct Line {
    order: i64,
    sold: Date,
    product: usize,
    customer: usize,
    channel: &'static str,
    quantity: i64,
    gross: i64,
    discount: i64,
    returned: i64,
    tax: i64,
}

/// All tables of the source.
pub(crate) fn tables() -> Vec<Table> {
    let customers = customers();
    let lines = lines(&customers);
    vec![
        fct_sales(&lines, &customers),
        dim_product(),
        dim_customer(&customers),
        fct_revenue_summary(&lines, &customers),
    ]
}

fn order_days(random: &mut Random) -> Vec<i64> {
    let mut order_days = Vec::new();
    while i64::try_from(order_days.len()).unwrap_or(i64::MAX) < ORDERS {
        let offset = random.below(days());
        let season = match u8::from(day(offset).month()) {
            11 | 12 => 140,
            1 | 8 => 75,
            _ => 100,
        };
        // Sales grow by half over the years, and November and December are the best months.
        if random.below(210 * days()) < season * (days() + offset / 2) {
            order_days.push(offset);
        }
    }
    order_days.sort_unstable();
    order_days
}

fn lines(customers: &[Customer]) -> Vec<Line> {
    let mut random = Random::new(0x5eed_0004);
    let mut lines = Vec::new();
    for (offset, order) in order_days(&mut random).into_iter().zip(20_001..) {
        let customer =
            usize::try_from(random.below(i64::try_from(customers.len()).unwrap_or(0))).unwrap_or(0);
        let large = customers.get(customer).is_some_and(|customer| customer.segment == "Corporate");
        let channel = random.weighted("online", &[("online", 55), ("partner", 25), ("retail", 20)]);
        for _ in 0..random.between(1, 3) {
            let product = usize::try_from(random.below(24)).unwrap_or(0);
            let price = PRODUCTS.get(product).map_or(0, |product| product.2);
            let quantity = random.between(1, 4) * if large { 3 } else { 1 };
            let gross = price * quantity;
            let discount = gross * random.weighted(0, &[(0, 55), (5, 20), (10, 15), (20, 10)]) / 100;
            // Prices include value added tax at 19 percent.
            let tax = (gross - discount) * 19 / 119;
            let paid = gross - discount - tax;
            let returned = if random.chance(7) { paid / random.between(1, 2) } else { 0 };
            lines.push(Line {
                order,
                sold: day(offset),
                product,
                customer,
                channel,
                quantity,
                gross,
                discount,
                returned,
                tax,
            });
        }
    }
    lines
}

fn product_id(at: usize) -> i64 {
    501 + i64::try_from(at).unwrap_or(0)
}

fn fct_sales(lines: &[Line], customers: &[Customer]) -> Table {
    let row = |(line, id): (&Line, i64)| {
        vec![
            number(Some(id)),
            number(Some(line.order)),
            text(written_day(line.sold)),
            number(Some(product_id(line.product))),
            number(customers.get(line.customer).map(|customer| customer.id)),
            text(line.channel),
            number(Some(line.quantity)),
            money(line.gross),
            money(line.discount),
            money(line.returned),
            money(line.tax),
        ]
    };
    Table {
        name: "fct_sales",
        columns: &[
            ("sale_id", "INTEGER PRIMARY KEY"),
            ("order_id", "INTEGER NOT NULL"),
            ("sold_on", "DATE NOT NULL"),
            ("product_id", "INTEGER NOT NULL"),
            ("customer_id", "INTEGER NOT NULL"),
            ("channel", "TEXT NOT NULL"),
            ("quantity", "INTEGER NOT NULL"),
            ("gross_amount", "DOUBLE NOT NULL"),
            ("discount_amount", "DOUBLE NOT NULL"),
            ("return_amount", "DOUBLE NOT NULL"),
            ("tax_amount", "DOUBLE NOT NULL"),
        ],
        rows: lines.iter().zip(70_001..).map(row).collect(),
    }
}

fn dim_product() -> Table {
    let mut random = Random::new(0x5eed_0005);
    let mut row = |(at, (name, category, price)): (usize, &(&str, &str, i64))| {
        vec![
            number(Some(product_id(at))),
            text(*name),
            text(*category),
            money(*price),
            text(written_day(day(-random.between(60, 1200)))),
            number(Some(i64::from(!random.chance(10)))),
        ]
    };
    Table {
        name: "dim_product",
        columns: &[
            ("product_id", "INTEGER PRIMARY KEY"),
            ("product_name", "TEXT NOT NULL"),
            ("category", "TEXT NOT NULL"),
            ("list_price", "DOUBLE NOT NULL"),
            ("launched_on", "DATE NOT NULL"),
            ("is_active", "INTEGER NOT NULL"),
        ],
        rows: PRODUCTS.iter().enumerate().map(&mut row).collect(),
    }
}

fn dim_customer(customers: &[Customer]) -> Table {
    Table {
        name: "dim_customer",
        columns: &[
            ("customer_id", "INTEGER PRIMARY KEY"),
            ("customer_name", "TEXT NOT NULL"),
            ("segment", "TEXT NOT NULL"),
            ("region", "TEXT NOT NULL"),
            ("country", "TEXT NOT NULL"),
            ("customer_since", "DATE NOT NULL"),
        ],
        rows: customers
            .iter()
            .map(|customer| {
                vec![
                    number(Some(customer.id)),
                    text(&customer.name),
                    text(customer.segment),
                    text(customer.region),
                    text(customer.country),
                    text(&customer.since),
                ]
            })
            .collect(),
    }
}

/// Monthly totals as they were computed before returns and tax were taken off: they look right and are not.
fn fct_revenue_summary(lines: &[Line], customers: &[Customer]) -> Table {
    let mut totals: BTreeMap<(String, &str), (i64, i64)> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.sold <= SUMMARY_END) {
        let region = customers.get(line.customer).map_or("", |customer| customer.region);
        let month = written_day(line.sold.replace_day(1).unwrap_or(line.sold));
        let (gross, net) = totals.entry((month, region)).or_default();
        *gross += line.gross;
        *net += line.gross - line.discount;
    }
    let row = |((month, region), (gross, net)): ((String, &str), (i64, i64))| -> Vec<Value> {
        vec![text(month), text(region), money(gross), money(net)]
    };
    Table {
        name: "fct_revenue_summary",
        columns: &[
            ("month_start", "DATE NOT NULL"),
            ("region", "TEXT NOT NULL"),
            ("gross_revenue", "DOUBLE NOT NULL"),
            ("net_revenue", "DOUBLE NOT NULL"),
        ],
        rows: totals.into_iter().map(row).collect(),
    }
}
