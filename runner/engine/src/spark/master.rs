//! Address of a cluster's master, as `spark-submit` takes it.

use std::fmt;
use std::str::FromStr;

/// Master of a Spark cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Master {
    /// `spark://HOST:PORT`, or several of them separated by commas, one of which is active.
    Standalone(String),
    /// `yarn`, whose address is in Hadoop's configuration.
    Yarn,
    /// `k8s://URL`.
    Kubernetes(String),
}

impl Master {
    /// Returns the host of a standalone master; the first if there are several.
    pub fn host(&self) -> Option<&str> {
        let Self::Standalone(url) = self else { return None };
        let first = url.strip_prefix("spark://")?.split(',').next()?;
        Some(first.rsplit_once(':').map_or(first, |(host, _port)| host))
    }

    /// Returns whether the cluster runs on this machine only.
    pub fn is_loopback(&self) -> bool {
        self.host().is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]")
    }
}

impl FromStr for Master {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match text.split_once("://") {
            Some(("spark", hosts)) if !hosts.is_empty() => Ok(Self::Standalone(text.to_owned())),
            Some(("k8s", url)) if !url.is_empty() => Ok(Self::Kubernetes(text.to_owned())),
            _ if text == "yarn" => Ok(Self::Yarn),
            _ if text.starts_with("local") => {
                Err("a local master has no executors of its own; use --engine local, or a cluster's master".to_owned())
            }
            _ => Err("write spark://HOST:PORT, yarn, or k8s://https://HOST:PORT".to_owned()),
        }
    }
}

impl fmt::Display for Master {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standalone(url) | Self::Kubernetes(url) => f.write_str(url),
            Self::Yarn => f.write_str("yarn"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_is_written_as_spark_submit_takes_it() {
        for text in ["spark://10.0.0.1:7077", "spark://a:7077,b:7077", "yarn", "k8s://https://10.0.0.1:6443"] {
            assert_eq!(text.parse::<Master>().unwrap().to_string(), text);
        }
        for text in ["", "local[4]", "spark://", "http://a:8080", "a:7077"] {
            assert!(text.parse::<Master>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_host_of_a_standalone_master_is_known() {
        let host = |text: &str| text.parse::<Master>().unwrap().host().map(str::to_owned);
        assert_eq!(host("spark://a:7077,b:7077").as_deref(), Some("a"));
        assert_eq!(host("spark://[::1]:7077").as_deref(), Some("[::1]"));
        assert_eq!(host("yarn"), None);
        assert!("spark://127.0.0.1:7077".parse::<Master>().unwrap().is_loopback());
        assert!(!"spark://10.0.0.1:7077".parse::<Master>().unwrap().is_loopback());
    }
}
