package execute

import (
	"context"
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

func (r *run) answer(ctx context.Context, question decide.Question, now time.Time) (err error) {
	answers, namespace := r.results.Answers, r.csv.Namespace
	switch q := question.(type) {
	case decide.MintCertificate:
		minted := decide.Minted{Secret: q.Secret}
		minted.Generation, err = certs.Mint(q.Request)
		r.learn(minted)
	case decide.ReadSecret:
		read := decide.SecretRead{Name: q.Name}
		read.Secret, err = r.Live.Secret(ctx, namespace, q.Name)
		r.learn(read)
	case decide.ReserveRotation:
		rotating := r.Caches.Secrets.By(informers.ByReplacing, "")
		answers.Rotations[q.Secret.Name] = r.RotationSlots.Reserve(q.Secret, rotating, r.Rotations, now)
	case decide.ReadTrust:
		answers.Trust[q.Deployment], err = r.Live.Trust(ctx, namespace, q)
	case decide.ProbeCertificate:
		answers.Evidence[q.Deployment], err = r.Prober.ProbeCertificate(ctx, r.csv, q)
	case decide.AskAPIServers:
		answers.Propagation[q.Deployment], err = r.Prober.AskAPIServers(ctx, r.csv, q, r.patience())
	case decide.ReadTarget:
		answers.Targets[q.Certificate], err = r.Live.IssuedSecret(ctx, q.Certificate)
	case decide.WatchObject:
		answers.Objects[q.ObjectKey] = r.watchObject(q.ObjectKey)
	case decide.FindOwner:
		answers.Owners[q.Owner] = r.Exists(q.Owner)
	default:
		return fmt.Errorf("no way to answer a %T", question)
	}
	return err
}

// patience returns how long to wait for API servers. While a webhook may have to be opened or closed, that is not delayed.
func (r *run) patience() time.Duration {
	if r.isOpen() || failopen.IsLost(r.facts.Status) {
		return prober.LeastPatience
	}
	return r.Prober.Patience()
}

func (r *run) watchObject(key decide.ObjectKey) decide.Object {
	store, cached := r.OnDemand.Watch(key.Resource)
	object := decide.Object{Cached: cached, Since: store.Began}
	if key.Name != "" {
		object.Live = store.Get(key.Namespace, key.Name)
	}
	return object
}
