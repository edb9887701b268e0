//! Connections to a database: TLS, passwords, and tables of other programs.

use foreglow_collector::upload::Target;
use foreglow_collector::{Access, Collector, Options, Tls};
use foreglow_store::{Filter, Location, Store};

use crate::{Place, inserted, sample};

const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tls");

fn open(url: String) -> anyhow::Result<Store> {
    Store::open(Some(&Location::Database(url)))
}

#[test]
fn a_server_is_reached_by_tls_with_the_authority_of_its_certificate() {
    let Some((place, server)) = Place::database().and_then(|place| Some((place.location.to_string(), place.server?)))
    else {
        return;
    };
    let url = server.by_tcp(&place);
    let mut store = open(format!("{url}?sslmode=verify-full&sslrootcert={TLS}/ca.pem")).unwrap();
    assert_eq!(store.insert(&[sample(1)]).unwrap(), inserted(1, 0));
    assert!(!store.location().to_string().contains("foreglow-postgres"), "{}", store.location());
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE ssl AND application_name = 'foreglow' AND datname = current_database()";
    assert_eq!(server.sql(&place, encrypted).unwrap().trim(), "1");

    let unknown = open(format!("{url}?sslmode=verify-full")).unwrap_err().to_string();
    assert!(unknown.contains("cannot be reached") && unknown.contains("certificate"), "{unknown}");
    // The certificate is for the address 127.0.0.1.
    let named = url.replace("127.0.0.1", "localhost");
    let other = open(format!("{named}?sslmode=verify-full&sslrootcert={TLS}/ca.pem")).unwrap_err().to_string();
    assert!(other.contains("cannot be reached") && other.contains("certificate"), "{other}");
    assert_eq!(open(url).unwrap().samples(&Filter::default()).unwrap(), [sample(1)], "this machine needs no TLS");
}

#[test]
fn a_database_that_cannot_be_used_is_refused_with_advice() {
    let Some(place) = Place::database() else { return };
    let (Location::Database(url), Some(server)) = (&place.location, place.server) else { return };
    let refused = |url: &str, part: &str| {
        let error = open(url.to_owned()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("secret"), "{error}");
    };
    let missing = Store::open_existing(Some(&place.location)).unwrap_err().to_string();
    assert!(missing.contains("there is no store at") && missing.contains("foreglow serve --store"), "{missing}");
    refused(&url.replace("/test", "/missing"), "make it with `createdb`");
    let tcp = server.by_tcp(url);
    let (user, host) = tcp.rsplit_once('@').unwrap();
    let wrong = format!("{}:secret@{host}", user.rsplit_once(':').unwrap().0);
    refused(&wrong, "check the user, PGPASSWORD and pg_hba.conf");
    refused("postgres://anna:secret@127.0.0.1:1/team", "cannot be reached");
    server.sql(url, "CREATE TABLE samples (mine int)").unwrap();
    refused(url, "is a database of another program");
    let copy = std::path::Path::new("copy.sqlite");
    server.sql(url, "DROP TABLE samples").unwrap();
    let store = place.open();
    assert!(store.back_up(copy).unwrap_err().to_string().contains("pg_dump"));
    let restored = foreglow_store::restore(copy, &place.location, "me").unwrap_err().to_string();
    assert!(restored.contains("pg_restore"), "{restored}");
    assert!(store.check().unwrap().is_sound());
    server.sql(url, "CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader").unwrap();
    let mut reader = open(url.replace("postgres@", "reader@")).unwrap();
    assert!(reader.insert(&[sample(1)]).unwrap_err().to_string().contains("lacks a right"));
    assert!(reader.probe().is_err());
}

#[test]
fn a_sender_learns_what_is_wrong_with_the_address_or_the_authority_of_a_collector() {
    let place = Place::file();
    let mut store = place.open();
    let tls = Tls::read(format!("{TLS}/first.pem").as_ref(), format!("{TLS}/first.key").as_ref()).unwrap();
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap(), Access::default()).unwrap();
    let collector = collector.with(Options { tls: Some(tls), ..Options::default() });
    let url = collector.url();
    let served = Place::file();
    let of_collector = served.open();
    std::thread::spawn(move || collector.run(of_collector));
    let mut sent =
        |url: &str| format!("{:#}", Target::new(url, None).unwrap().send(&mut store, &[sample(1)]).unwrap_err());
    let unknown = sent(&url);
    assert!(unknown.contains("set FOREGLOW_CA to the file"), "{unknown}");
    let plain = sent(&url.replace("https://", "http://"));
    assert!(plain.contains("use https://"), "{plain}");
}
