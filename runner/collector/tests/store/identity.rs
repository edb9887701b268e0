//! Who sent a request: sessions of browsers, and the sender of each sample.

use foreglow_shared::Timestamp;
use foreglow_store::token::{Hash, random};
use foreglow_store::{Filter, MOST_SESSIONS, Store};

use crate::faults::{agent, lines};
use crate::hostile::serve_with_tokens;
use crate::{Place, sample};

over_both! {
    a_session_is_that_of_a_token_until_it_ends_or_the_token_is_revoked
    a_token_has_a_limited_number_of_sessions
    samples_of_a_token_are_found_by_its_name_and_the_time_of_their_arrival
    a_browser_has_a_session_that_only_reads_and_that_can_be_ended
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn a_session_is_that_of_a_token_until_it_ends_or_the_token_is_revoked(place: &Place) {
    let mut store = place.open();
    let token = |store: &mut Store, name: &str| {
        let (roles, created_at, name) = ("read".parse().unwrap(), Timestamp::now(), name.to_owned());
        let token =
            foreglow_store::Token { name, roles, per_minute: 60, created_at, expires_at: None, last_used_at: None };
        store.add_token(&token, Hash::of(&token.name), "me").unwrap();
        Hash::of(&token.name)
    };
    let (anna, ben) = (token(&mut store, "anna"), token(&mut store, "ben"));
    let (begin, end) = (at("2026-11-21T10:00:00Z"), at("2026-11-22T10:00:00Z"));
    let [first, second, third] = ["1", "2", "3"].map(Hash::of);
    store.begin_session(first, anna, begin, end).unwrap();
    store.begin_session(second, anna, begin, end).unwrap();
    store.begin_session(third, ben, begin, end).unwrap();
    let found = |store: &Store, session: Hash, now: &str| store.token_of_session(session, at(now)).unwrap();
    assert_eq!(found(&store, first, "2026-11-22T09:59:59Z"), Some(anna));
    assert_eq!(found(&store, first, "2026-11-22T10:00:00Z"), None, "it has ended");
    assert_eq!(found(&store, anna, "2026-11-21T10:00:00Z"), None, "a token is no session");
    store.end_session(first).unwrap();
    assert_eq!(found(&store, first, "2026-11-21T10:00:00Z"), None);
    assert_eq!(found(&store, second, "2026-11-21T10:00:00Z"), Some(anna));
    assert!(store.revoke_token("anna", "me").unwrap());
    assert_eq!(found(&store, second, "2026-11-21T10:00:00Z"), None);
    assert_eq!(found(&store, third, "2026-11-21T10:00:00Z"), Some(ben));
}

fn a_token_has_a_limited_number_of_sessions(place: &Place) {
    let mut store = place.open();
    let begin = at("2026-11-21T10:00:00Z");
    let session = |number: i64| Hash::of(&number.to_string());
    store.begin_session(session(-1), Hash::of("ben"), begin, at("2026-11-30T10:00:00Z")).unwrap();
    for number in 0..MOST_SESSIONS + 5 {
        let now = Timestamp::from_second(begin.as_second() + number).unwrap();
        let end = Timestamp::from_second(begin.as_second() + number + 100_000).unwrap();
        store.begin_session(session(number), Hash::of("anna"), now, end).unwrap();
    }
    let is_there = |number: i64| store.token_of_session(session(number), begin).unwrap().is_some();
    assert_eq!((0..MOST_SESSIONS + 5).filter(|number| is_there(*number)).collect::<Vec<_>>(), Vec::from_iter(5..105));
    assert!(is_there(-1), "another token keeps its own");
}

fn samples_of_a_token_are_found_by_its_name_and_the_time_of_their_arrival(place: &Place) {
    let url = serve_with_tokens(place, &["leaked", "node1"]);
    let send = |token: &str, numbers: std::ops::Range<u128>| {
        let posted = agent().post(format!("{url}api/v1/samples")).header("authorization", format!("Bearer {token}"));
        assert_eq!(posted.send(lines(numbers)).unwrap().status().as_u16(), 200);
    };
    send("leaked", 1..3);
    send("node1", 2..5);
    std::thread::sleep(std::time::Duration::from_millis(20));
    let later = Timestamp::now();
    std::thread::sleep(std::time::Duration::from_millis(20));
    send("leaked", 5..7);
    let mut store = place.open();
    let ids = |numbers: &[u128]| numbers.iter().map(|number| sample(*number).id).collect::<Vec<_>>();
    assert_eq!(store.sent_by("leaked", None).unwrap(), ids(&[1, 2, 5, 6]), "the first sender of a sample counts");
    assert_eq!(store.sent_by("leaked", Some(later)).unwrap(), ids(&[5, 6]));
    assert_eq!(store.sent_by("node1", None).unwrap(), ids(&[3, 4]));
    assert_eq!(store.sent_by("nobody", None).unwrap(), ids(&[]));
    let of_leaked = store.sent_by("leaked", Some(later)).unwrap();
    assert_eq!(store.remove(&of_leaked, "me").unwrap(), 2);
    let left = [1, 2, 3, 4].map(sample);
    assert_eq!(store.samples(&Filter::default()).unwrap(), left);
}

fn a_browser_has_a_session_that_only_reads_and_that_can_be_ended(place: &Place) {
    let url = serve_with_tokens(place, &["anna"]);
    let agent =
        ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None).build().new_agent();
    let sign_in = || {
        let answer = agent.post(&url).send("token=anna").unwrap();
        assert_eq!(answer.status().as_u16(), 303);
        let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    };
    let (first, second) = (sign_in(), sign_in());
    let port = url.trim_end_matches('/').rsplit_once(':').unwrap().1;
    let (name, id) = first.split_once('=').unwrap();
    assert_eq!(name, format!("foreglow-{port}"), "another collector of this machine has another name");
    let hex: String = "anna".bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!first.contains("anna") && !first.contains(&hex) && first != second, "it is not the token");
    let get = |header: &str, value: &str| {
        agent.get(format!("{url}api/v1/samples")).header(header, value).call().unwrap().status().as_u16()
    };
    assert_eq!(get("cookie", &first), 200);
    assert_eq!(get("cookie", &format!("foreglow={id}")), 401, "the name of another port");
    assert_eq!(get("authorization", &format!("Bearer {id}")), 401, "a session is no token");
    assert_eq!(get("cookie", &format!("{name}={}", random().unwrap())), 401);
    // The token may write, its session not.
    let posted = agent.post(format!("{url}api/v1/samples")).header("cookie", &first).send(lines(1..2)).unwrap();
    assert_eq!(posted.status().as_u16(), 403);

    let left = agent.post(format!("{url}sign-out")).header("cookie", &first).send_empty().unwrap();
    assert!(left.headers()["set-cookie"].to_str().unwrap().starts_with(&format!("{name}=; ")));
    assert_eq!((get("cookie", &first), get("cookie", &second)), (401, 200), "a copy of the cookie is worthless now");
    assert!(place.open().revoke_token("anna", "me").unwrap());
    assert_eq!(get("cookie", &second), 401);
}
