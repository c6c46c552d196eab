package execute

import (
	"context"
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
)

// answer adds the answer to a question to the facts of the next round.
func (e *Executor) answer(ctx context.Context, s *gather.Snapshot, question decide.Question, now time.Time) (err error) {
	switch q := question.(type) {
	case decide.MintCertificate:
		s.Minted[q.Secret], err = certs.Mint(q.Request)
	case decide.CountRotations:
		s.Answers.Rotations[q.Secret.Name] = e.RotationSlots.Others(q.Secret, e.Caches.Secrets.By(informers.ByReplacing, ""), e.Certificates.Parallel, now)
	case decide.ReadSecret:
		s.Secrets[q.Name], err = e.Live.Secret(ctx, s.CSV.Namespace, q.Name)
	case decide.ReadTrust:
		s.Answers.Trust[q.Deployment], err = e.Live.Trust(ctx, s.Facts, q)
	case decide.ProbeCertificate:
		s.Answers.Evidence[q.Deployment], err = e.Prober.ProbeCertificate(ctx, s, q)
	case decide.ReadTarget:
		s.Answers.Targets[q.Certificate], err = e.Live.IssuedSecret(ctx, q.Certificate)
	case decide.WatchObject:
		s.Answers.Objects[q.ObjectKey] = e.watchObject(q.ObjectKey)
	default:
		return fmt.Errorf("no way to answer: %s", question.Key())
	}
	return err
}

// watchObject returns an object from a cache that is filled on demand.
func (e *Executor) watchObject(key decide.ObjectKey) decide.Object {
	store, cached := e.Foreign.Of(key.Resource)
	object := decide.Object{Cached: cached, Since: store.Began}
	if key.Name != "" {
		object.Live = store.Get(key.Namespace, key.Name)
	}
	return object
}
