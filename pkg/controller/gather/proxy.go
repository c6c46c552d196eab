package gather

import "github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"

// HasClusterProxy reports whether the manager reads the proxy of the cluster, and the cluster has the kind.
func (g *Gatherer) HasClusterProxy() bool {
	return g.Settings.WithOLM && g.Caches.Serves(subscriptions.ProxyResource)
}

// proxy returns the proxy of the cluster; without it, the one of the manager's flags. While the cache is being filled,
// the kind is new: the cluster has not had the object.
func (g *Gatherer) proxy() subscriptions.Proxy {
	if g.HasClusterProxy() {
		cache, _ := g.OnDemand.Watch(subscriptions.ProxyResource)
		if object := cache.Get("", subscriptions.ClusterProxy); object != nil {
			return subscriptions.ProxyOf(object)
		}
	}
	return g.Proxy
}
