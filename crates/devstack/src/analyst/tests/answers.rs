//! Figures over both sources, each equal to plain SQL.

use serde_json::Value;

use super::desk::{Desk, Ended};

const NET: &str = "SUM(gross_amount - discount_amount - return_amount - tax_amount)";

/// Collects what is wrong, so that one run shows all of it.
#[derive(Default)]
struct Checks(Vec<String>);

impl Drop for Checks {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || std::thread::panicking(), "\n{}", self.0.join("\n"));
    }
}

impl Checks {
    fn note(&mut self, question: &str, ended: &Ended, wrong: &str) {
        let sql = ended.ran.last().map_or("nothing ran", |(sql, _)| sql);
        self.0.push(format!("{question}\n  {wrong}\n  {sql}\n  {} {:?}", ended.text, ended.refused));
    }

    /// The headline is one figure.
    fn figure(&mut self, question: &str, sql: &str) {
        let mut desk = Desk::new();
        let ended = desk.ask(question);
        let expected = desk.plain(&sql.replace("NET", NET));
        let found = ended.headline["value"].as_f64();
        if !found.is_some_and(|found| (found - expected).abs() < 0.006) {
            self.note(question, &ended, &format!("{found:?} is not {expected}"));
        }
    }

    /// The rows of the result are these.
    fn rows(&mut self, question: &str, sql: &str) {
        let mut desk = Desk::new();
        let ended = desk.ask(question);
        let expected = desk.plain_rows(&sql.replace("NET", NET));
        if ended.ran.is_empty() || !alike(&ended.rows(), &expected) {
            self.note(question, &ended, &format!("not {expected:?}"));
        }
    }

    /// The headline names the first of a ranking.
    fn winner(&mut self, question: &str, sql: &str) {
        let mut desk = Desk::new();
        let ended = desk.ask(question);
        let expected = &desk.plain_rows(&sql.replace("NET", NET))[0][0];
        if &ended.headline["value"] != expected {
            self.note(question, &ended, &format!("not {expected}"));
        }
    }
}

fn alike(found: &[Vec<Value>], expected: &[Vec<Value>]) -> bool {
    let same = |(one, other): (&Value, &Value)| match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < 0.006,
        _ => one == other,
    };
    found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(found, expected)| found.len() == expected.len() && found.iter().zip(expected).all(same))
}

#[test]
fn counts() {
    let mut checks = Checks::default();
    checks.figure(
        "How many tickets were opened in 2025?",
        "SELECT COUNT(*) FROM support.tickets WHERE opened_at LIKE '2025%'",
    );
    checks.figure(
        "How many tickets were resolved in May 2025?",
        "SELECT COUNT(*) FROM support.tickets WHERE status = 'resolved' AND resolved_at LIKE '2025-05%'",
    );
    checks.figure(
        "How many high priority tickets are open?",
        "SELECT COUNT(*) FROM support.tickets WHERE priority = 'high' AND status IN ('open', 'pending')",
    );
    checks.figure(
        "How many tickets came in by email?",
        "SELECT COUNT(*) FROM support.tickets WHERE channel = 'email'",
    );
    checks.figure("How many urgent tickets did the Technical team get in fiscal year 2025?", "SELECT COUNT(*) FROM support.tickets WHERE priority = 'urgent' AND team = 'Technical' AND opened_at >= '2025-04-01' AND opened_at < '2026-04-01'");
    checks.figure("How many tickets breached their SLA?", "SELECT SUM(sla_breached) FROM support.tickets");
    checks.figure("How many support agents are there?", "SELECT COUNT(*) FROM support.agents");
    checks.figure(
        "How many agents are in the Billing team?",
        "SELECT COUNT(*) FROM support.agents WHERE team = 'Billing'",
    );
    checks.figure("How many orders did we have in Q3 2025?", "SELECT COUNT(DISTINCT order_id) FROM sales.fct_sales WHERE sold_on >= '2025-07-01' AND sold_on < '2025-10-01'");
    checks.figure("How many units did we sell in APAC?", "SELECT SUM(quantity) FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) WHERE region = 'APAC'");
    checks.figure(
        "How many active customers were there in 2025?",
        "SELECT COUNT(DISTINCT customer_id) FROM sales.fct_sales WHERE sold_on LIKE '2025%'",
    );
    checks.figure(
        "How many products are in the Audio category?",
        "SELECT COUNT(*) FROM sales.dim_product WHERE category = 'Audio'",
    );
    checks.figure(
        "How many cancelled tickets are there?",
        "SELECT COUNT(*) FROM support.tickets WHERE status = 'cancelled'",
    );
    checks.figure(
        "What is the backlog of the Enterprise team?",
        "SELECT COUNT(*) FROM support.tickets WHERE team = 'Enterprise' AND status IN ('open', 'pending')",
    );
    checks.figure("How many tickets from small businesses are open?", "SELECT COUNT(*) FROM support.tickets JOIN support.customers USING (customer_id) WHERE segment = 'Small Business' AND status IN ('open', 'pending')");
}

#[test]
fn averages_sums_and_rates() {
    let mut checks = Checks::default();
    checks.figure(
        "What is the average resolution time?",
        "SELECT AVG(resolution_minutes) FROM support.tickets",
    );
    checks.figure(
        "What is the average resolution time for high priority tickets?",
        "SELECT AVG(resolution_minutes) FROM support.tickets WHERE priority = 'high'",
    );
    checks.figure("What is our MTTR for Billing in 2025?", "SELECT AVG(resolution_minutes) FROM support.tickets WHERE team = 'Billing' AND opened_at LIKE '2025%'");
    checks.figure(
        "How long does it take on average to resolve a ticket?",
        "SELECT AVG(resolution_minutes) FROM support.tickets",
    );
    checks.figure(
        "What is the average first response time for chat?",
        "SELECT AVG(first_response_minutes) FROM support.tickets WHERE channel = 'chat'",
    );
    checks.figure(
        "What percentage of tickets breached their SLA?",
        "SELECT 100.0 * SUM(sla_breached) / COUNT(sla_breached) FROM support.tickets",
    );
    checks.figure(
        "What is the reopen rate?",
        "SELECT 100.0 * SUM(reopen_count > 0) / COUNT(*) FROM support.tickets",
    );
    checks.figure(
        "What was our revenue last year?",
        "SELECT NET FROM sales.fct_sales WHERE sold_on LIKE '2025%'",
    );
    checks.figure("What was gross revenue in the last fiscal year?", "SELECT SUM(gross_amount) FROM sales.fct_sales WHERE sold_on >= '2025-04-01' AND sold_on < '2026-04-01'");
    checks.figure(
        "What was net revenue in Q2 of fiscal year 2025?",
        "SELECT NET FROM sales.fct_sales WHERE sold_on >= '2025-07-01' AND sold_on < '2025-10-01'",
    );
    checks.figure(
        "What was net revenue since July 2026?",
        "SELECT NET FROM sales.fct_sales WHERE sold_on >= '2026-07-01'",
    );
    checks.figure("What is the average order value of corporate customers?", "SELECT NET / COUNT(DISTINCT order_id) FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) WHERE segment = 'Corporate'");
    checks.figure(
        "What is the average list price of products in Displays?",
        "SELECT AVG(list_price) FROM sales.dim_product WHERE category = 'Displays'",
    );
    checks.figure("How much revenue did we make through partners in EMEA in FY25?", "SELECT NET FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) WHERE channel = 'partner' AND region = 'EMEA' AND sold_on >= '2025-04-01' AND sold_on < '2026-04-01'");
    checks.figure("What is the return rate of Storage products?", "SELECT 100.0 * SUM(return_amount) / SUM(gross_amount - discount_amount - tax_amount) FROM sales.fct_sales JOIN sales.dim_product USING (product_id) WHERE category = 'Storage'");
    checks.figure(
        "What was the total discount in 2025?",
        "SELECT SUM(discount_amount) FROM sales.fct_sales WHERE sold_on LIKE '2025%'",
    );
}

#[test]
fn rankings() {
    let mut checks = Checks::default();
    checks.winner(
        "Which team has the highest SLA breach rate?",
        "SELECT team FROM support.tickets GROUP BY team ORDER BY AVG(sla_breached) DESC",
    );
    checks.winner(
        "Which team is slowest to resolve tickets?",
        "SELECT team FROM support.tickets GROUP BY team ORDER BY AVG(resolution_minutes) DESC",
    );
    checks.winner(
        "Which support team responds fastest?",
        "SELECT team FROM support.tickets GROUP BY team ORDER BY AVG(first_response_minutes)",
    );
    checks.winner(
        "Which channel gets the fewest tickets?",
        "SELECT channel FROM support.tickets GROUP BY channel ORDER BY COUNT(*)",
    );
    checks.winner("Which product category sold the most units?", "SELECT category FROM sales.fct_sales JOIN sales.dim_product USING (product_id) GROUP BY category ORDER BY SUM(quantity) DESC");
    checks.winner("Which region has the best net revenue?", "SELECT region FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY region ORDER BY NET DESC");
    checks.winner("Which agent resolved the most tickets?", "SELECT agent_name FROM support.tickets JOIN support.agents USING (agent_id) WHERE status = 'resolved' GROUP BY agent_id ORDER BY COUNT(*) DESC, agent_name");
    checks.winner(
        "In which month was gross revenue highest?",
        "SELECT substr(sold_on, 1, 7) FROM sales.fct_sales GROUP BY 1 ORDER BY SUM(gross_amount) DESC",
    );
    checks.winner(
        "What is the fastest support team?",
        "SELECT team FROM support.tickets GROUP BY team ORDER BY AVG(resolution_minutes)",
    );
    checks.winner("Who is faster at resolving tickets, Technical or Onboarding?", "SELECT team FROM support.tickets WHERE team IN ('Technical', 'Onboarding') GROUP BY team ORDER BY AVG(resolution_minutes)");
    checks.winner("Which country has the most tickets?", "SELECT country FROM support.tickets JOIN support.customers USING (customer_id) GROUP BY country ORDER BY COUNT(*) DESC, country");
    checks.winner("Which customer has the most orders?", "SELECT customer_name FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY customer_id ORDER BY COUNT(DISTINCT order_id) DESC, customer_name");
    checks.winner(
        "Which team has the worst reopen rate?",
        "SELECT team FROM support.tickets GROUP BY team ORDER BY AVG(reopen_count > 0) DESC",
    );
}

#[test]
fn breakdowns_and_courses() {
    let mut checks = Checks::default();
    checks.rows("Net revenue by region", "SELECT region, NET FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY region ORDER BY 2 DESC");
    checks.rows("Show net revenue and gross revenue by region", "SELECT region, NET, SUM(gross_amount) FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY region ORDER BY 2 DESC");
    checks.rows("How many tickets per team in 2025?", "SELECT team, COUNT(*) FROM support.tickets WHERE opened_at LIKE '2025%' GROUP BY team ORDER BY 2 DESC");
    checks.rows(
        "What is the average resolution time for each team?",
        "SELECT team, AVG(resolution_minutes) FROM support.tickets GROUP BY team ORDER BY 2 DESC",
    );
    checks.rows("Top 5 products by net revenue", "SELECT product_name, NET FROM sales.fct_sales JOIN sales.dim_product USING (product_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 5");
    checks.rows("Monthly net revenue in 2025", "SELECT substr(sold_on, 1, 7), NET FROM sales.fct_sales WHERE sold_on LIKE '2025%' GROUP BY 1 ORDER BY 1");
    checks.rows(
        "Net revenue by fiscal year",
        "SELECT substr(date(sold_on, '-3 months'), 1, 4), NET FROM sales.fct_sales GROUP BY 1 ORDER BY 1",
    );
    checks.rows(
        "How has ticket volume developed?",
        "SELECT substr(opened_at, 1, 7), COUNT(*) FROM support.tickets GROUP BY 1 ORDER BY 1",
    );
    checks.rows("SLA breach rate per priority", "SELECT priority, 100.0 * SUM(sla_breached) / COUNT(sla_breached) FROM support.tickets GROUP BY 1 ORDER BY 2 DESC");
    checks.rows("Average order value by customer segment", "SELECT segment, NET / COUNT(DISTINCT order_id) FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY 1 ORDER BY 2 DESC");
    checks.rows("Compare the average resolution time of Billing and Frontline", "SELECT team, AVG(resolution_minutes) FROM support.tickets WHERE team IN ('Billing', 'Frontline') GROUP BY team ORDER BY 2 DESC");
    checks.rows("Net revenue by fiscal quarter in fiscal year 2024", "SELECT '2024-Q' || ((CAST(substr(date(sold_on, '-3 months'), 6, 2) AS INTEGER) + 2) / 3), NET FROM sales.fct_sales WHERE sold_on >= '2024-04-01' AND sold_on < '2025-04-01' GROUP BY 1 ORDER BY 1");
    checks.rows(
        "How many products are there per category?",
        "SELECT category, COUNT(*) FROM sales.dim_product GROUP BY category ORDER BY 2 DESC, 1",
    );
}

#[test]
fn lists() {
    let mut checks = Checks::default();
    checks.rows("List the agents in Lisbon", "SELECT agent_id, agent_name, team, site, hired_on, is_active FROM support.agents WHERE site = 'Lisbon' ORDER BY agent_id");
    checks.rows(
        "List the names of the agents in the Billing team",
        "SELECT agent_name FROM support.agents WHERE team = 'Billing' ORDER BY agent_id",
    );
    checks.rows(
        "List all products with their list price",
        "SELECT product_name, list_price FROM sales.dim_product ORDER BY product_id",
    );
    checks.rows("Which regions are there?", "SELECT DISTINCT region FROM support.customers ORDER BY 1");
    checks.rows(
        "What product categories do we have?",
        "SELECT DISTINCT category FROM sales.dim_product ORDER BY 1",
    );
    checks.rows(
        "Which products are in the Audio category?",
        "SELECT product_id, product_name, category, list_price, launched_on, is_active FROM sales.dim_product WHERE category = 'Audio' ORDER BY product_id",
    );
    let ended = Desk::new().ask("Show all urgent open tickets");
    assert!(
        ended.sql().contains("status IN ('open', 'pending')") && ended.sql().contains("priority = 'urgent'"),
        "{}",
        ended.sql()
    );
}

#[test]
fn rows_are_listed_where_no_figure_is_asked_for() {
    let mut checks = Checks::default();
    checks.rows("Show me the SLA targets", "SELECT * FROM support.sla ORDER BY priority");
    checks.rows(
        "What are the SLA targets for urgent tickets?",
        "SELECT * FROM support.sla WHERE priority = 'urgent'",
    );
    checks.rows(
        "What is the status of ticket 50123?",
        "SELECT status FROM support.tickets WHERE ticket_id = 50123",
    );
    checks.rows("Which customers are in Germany?", "SELECT customer_id, company, segment, region, country, created_on FROM support.customers WHERE country = 'Germany' ORDER BY customer_id");
}

#[test]
fn names_pairs_and_second_groups() {
    let mut checks = Checks::default();
    checks.figure("How many units of product Fell Monitor 27 did we sell?", "SELECT SUM(quantity) FROM sales.fct_sales JOIN sales.dim_product USING (product_id) WHERE product_name = 'Fell Monitor 27'");
    checks.figure("What is the average resolution time of agent Hugo Haddad?", "SELECT AVG(resolution_minutes) FROM support.tickets JOIN support.agents USING (agent_id) WHERE agent_name = 'Hugo Haddad'");
    checks.figure("How many tickets came from Germany?", "SELECT COUNT(*) FROM support.tickets JOIN support.customers USING (customer_id) WHERE country = 'Germany'");
    checks.rows("What was the average order value in 2024 and 2025?", "SELECT substr(sold_on, 1, 4), NET / COUNT(DISTINCT order_id) FROM sales.fct_sales WHERE sold_on < '2026-01-01' GROUP BY 1 ORDER BY 1");
    checks.rows("Compare net revenue in fiscal year 2024 and fiscal year 2025", "SELECT substr(date(sold_on, '-3 months'), 1, 4), NET FROM sales.fct_sales WHERE sold_on < '2026-04-01' GROUP BY 1 ORDER BY 1");
    checks.rows("How did revenue change between 2024 and 2025?", "SELECT substr(sold_on, 1, 4), NET FROM sales.fct_sales WHERE sold_on < '2026-01-01' GROUP BY 1 ORDER BY 1");
    checks.rows("Net revenue per customer segment and region", "SELECT segment, region, NET FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY 1, 2 ORDER BY 3 DESC");
    checks.winner("Which team had the most SLA breaches in Q2 2025?", "SELECT team FROM support.tickets WHERE opened_at >= '2025-04-01' AND opened_at < '2025-07-01' GROUP BY team ORDER BY SUM(sla_breached) DESC");
    checks.winner("What is our best selling product?", "SELECT product_name FROM sales.fct_sales JOIN sales.dim_product USING (product_id) GROUP BY 1 ORDER BY NET DESC");
    checks.winner("Which customers spent the most?", "SELECT customer_name FROM sales.fct_sales JOIN sales.dim_customer USING (customer_id) GROUP BY customer_id ORDER BY NET DESC");
    checks.figure("What is the highest list price?", "SELECT MAX(list_price) FROM sales.dim_product");
    checks.winner("Is Billing faster than Technical?", "SELECT 'Billing'");
}

#[test]
fn two_sources_are_asked_in_one_turn_and_told_together() {
    let mut desk = Desk::new();
    let ended = desk.ask("How many tickets did we get and what was net revenue in 2025?");
    assert_eq!(ended.ran.len(), 2, "{ended:?}");
    let in_year = desk.plain("SELECT COUNT(*) FROM support.tickets WHERE opened_at LIKE '2025%'");
    let counted = ended.ran[0].1["rows"][0][0].as_f64().unwrap();
    assert!((counted - in_year).abs() < 0.1, "{counted}");
    assert_eq!(ended.headline, Value::Null);
    let ended = desk.ask("Show tickets and net revenue by region");
    assert_eq!(ended.ran.len(), 2, "{ended:?}");
    let ended = desk.ask("Which region has the most tickets and which has the highest net revenue?");
    assert_eq!(ended.ran.len(), 2, "{ended:?}");
    assert!(ended.ran.iter().all(|(sql, _)| sql.contains("GROUP BY")), "{ended:?}");
    let ended = desk.ask("Show tickets and net revenue in EMEA");
    assert_eq!(ended.ran.len(), 2, "{ended:?}");
    assert!(ended.ran.iter().all(|(sql, _)| sql.contains("region = 'EMEA'")), "{ended:?}");
}

#[test]
fn meanings() {
    for (question, entity, said) in [
        ("Define backlog", "Support.Backlog", "All open tickets"),
        ("What is an open ticket?", "Support.OpenTicket", "status is open or pending"),
        ("How is net revenue calculated?", "Sales.NetRevenue", "SUM(sales.fct_sales.gross_amount"),
        (
            "When does the fiscal year start, I mean what does fiscal year mean?",
            "Company.FiscalYear",
            "1 April",
        ),
        ("What does AOV mean?", "Sales.AverageOrderValue", "Net Revenue divided"),
        ("What is the definition of an active customer?", "Sales.ActiveCustomer", "at least one order"),
        ("What is Net Revenue?", "Sales.NetRevenue", "value added tax"),
        ("What is the difference between net revenue and gross revenue?", "Sales.GrossRevenue", "list price"),
    ] {
        let ended = Desk::new().ask(question);
        assert_eq!(ended.kind, "answer", "{question}: {ended:?}");
        assert!(ended.entities.contains(&entity.to_owned()), "{question}: {:?}", ended.entities);
        assert!(ended.text.contains(said), "{question}: {}", ended.text);
        assert!(ended.ran.is_empty() && ended.turns <= 2, "{question}: {}", ended.turns);
    }
    let ended = Desk::new().ask("What does customer happiness mean?");
    assert_eq!(ended.kind, "cannot_answer", "{ended:?}");
}
