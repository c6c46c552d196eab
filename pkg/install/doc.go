// Package install is the parent of the packages that read a ClusterServiceVersion (CSV) and
// decide what it needs in the cluster. All of them are pure: values in, values out.
//
//   - csvspec reads a CSV: its Deployments, webhooks, APIs and accounts.
//   - subscriptions reads what the administrator configures for it.
//   - permissions compares and renders what ServiceAccounts may do.
//   - rules finds the resources that the rules of a webhook match.
//   - owners finds the objects that belong to a CSV, and what keeps them.
//   - requirements checks whether a CSV may be installed.
//   - exemptions finds the requests that a webhook's own backend needs.
//   - render renders the objects that a CSV needs.
//   - reviews renders the request that tests a webhook before it is registered.
package install
