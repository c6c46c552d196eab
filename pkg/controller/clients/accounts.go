package clients

import (
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
)

// mostAccounts is how many accounts keep their clients. The clients of other accounts are recreated.
const mostAccounts = 100

// Accounts has clients that impersonate ServiceAccounts.
type Accounts struct {
	config *rest.Config
	mutex  sync.Mutex // one Set for each account: concurrent requests share it
	sets   *lru.Cache
}

func newAccounts(config *rest.Config) *Accounts {
	return &Accounts{config: config, sets: lru.New(mostAccounts)}
}

// Of returns the clients of a user name. They share the connections of the manager.
func (a *Accounts) Of(user string) (Set, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if set, ok := a.sets.Get(user); ok {
		return set.(Set), nil
	}
	config := rest.CopyConfig(a.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user} // the API server adds the groups of a ServiceAccount
	set, err := newSet(config)
	if err == nil {
		a.sets.Add(user, set)
	}
	return set, err
}
