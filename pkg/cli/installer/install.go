package installer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// Install executes a plan, waits for the result, and returns the applied objects. It continues an interrupted installation.
func (c *Installer) Install(ctx context.Context, agreed Confirmed) ([]*unstructured.Unstructured, error) {
	p := agreed.plan
	if len(p.steps) == 0 {
		return nil, errors.New("this is no plan of Installer.Plan: nothing is installed that was not checked")
	}
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	applied, err := c.writeAll(ctx, a, &p)
	if err != nil {
		return applied, err
	}
	v := &watch{Installer: c, Installation: p.Installation, applied: applied, subscription: subscriptionIn(applied), awaited: maps.Clone(p.awaited)}
	if err := v.wait(ctx); err != nil {
		return applied, err
	}
	return applied, c.writeFinal(ctx, a, p, applied)
}

// writeAll writes the objects in their order. The record is written as soon as its namespace
// exists, before the first object in it, and completed at the end, also of an interrupted command.
func (c *Installer) writeAll(ctx context.Context, a applier, p *Plan) (applied []*unstructured.Unstructured, err error) {
	p.record.Next = p.Bundle.CSV.Name
	recorded, checked := false, false
	for n, s := range p.steps {
		if !recorded && !groupkind.Is(s.Object, groupkind.Namespace) {
			if err := c.beginRecord(ctx, p, applied); err != nil {
				return applied, err
			}
			recorded = true
			defer func() { err = errors.Join(err, c.records.save(ctx, &p.record)) }()
		}
		if s.Unchecked != "" && !checked {
			if err := c.checkUnchecked(ctx, a, *p, p.steps[n:]); err != nil {
				return applied, err
			}
			checked = true
		}
		written, err := c.execute(ctx, a, p, s)
		if written != nil {
			applied = append(applied, written)
		}
		switch interrupted := ctx.Err() != nil && n < len(p.steps)-1; {
		case interrupted && !recorded && len(applied) > 0:
			return applied, errors.Join(ErrInterrupted, c.beginRecord(ctx, p, applied))
		case interrupted:
			return applied, ErrInterrupted
		case err != nil:
			return applied, err
		}
	}
	p.record.CSV, p.record.Next = p.record.Next, ""
	return applied, nil
}

func (c *Installer) execute(ctx context.Context, a applier, p *Plan, s deploy.Step) (*unstructured.Unstructured, error) {
	if s.Action == deploy.Keep {
		p.Print("kept %s: it is as the bundle has it", deploy.Title(s.Object))
		return nil, nil
	}
	written, err := c.write(ctx, a, *p, s)
	if err != nil {
		return nil, err
	}
	p.record.SetUID(written)
	p.Print("applied %s%s", deploy.Title(s.Object), awaitedNote(s.Object, p.awaited))
	return written, nil
}

func (c *Installer) beginRecord(ctx context.Context, p *Plan, applied []*unstructured.Unstructured) error {
	for _, s := range p.steps {
		p.record.Add(s)
	}
	for _, o := range applied {
		p.record.SetUID(o)
	}
	return c.records.save(ctx, &p.record)
}

// writeAttempts is how often a step is repeated for an object whose status other clients write meanwhile.
const writeAttempts = 5

// write executes a step if the object is still the one that it was decided about, also after an interruption.
func (c *Installer) write(ctx context.Context, a applier, p Plan, s deploy.Step) (*unstructured.Unstructured, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx, cancel := afterInterrupt(ctx)
	defer cancel()
	for attempt := 1; ; attempt++ {
		written, err := c.apply(ctx, a, p, s)
		if !apierrors.IsConflict(err) {
			return written, err
		}
		now, failed := a.live(ctx, s.Object)
		if failed != nil {
			return nil, failed
		}
		if outdated := s.Outdated(now); outdated != nil {
			return nil, outdated
		}
		if s.Action != deploy.Overwrite || attempt == writeAttempts {
			return nil, err
		}
		s.Live = now
	}
}

func (c *Installer) checkUnchecked(ctx context.Context, a applier, p Plan, steps []deploy.Step) error {
	var refused []error
	for _, s := range steps {
		if s.Unchecked == "" {
			continue
		}
		if _, err := c.apply(ctx, a, p, s, metav1.DryRunAll); err != nil && !p.createsRoleOf(s.Object, err) {
			refused = append(refused, err)
		}
	}
	if err := errors.Join(refused...); err != nil {
		return fmt.Errorf("the API server refuses, and only what these objects need was written (namespace and definitions):\n%w", err)
	}
	return nil
}

// writeFinal writes definitions as the bundle has them, and removes the list of versions to wait for.
func (c *Installer) writeFinal(ctx context.Context, a applier, p Plan, applied []*unstructured.Unstructured) error {
	for _, o := range applied {
		if crd := p.definition(o); crd != nil {
			if _, err := c.definitions.define(ctx, deploy.Step{Object: o, Live: o, Action: deploy.Update}, deploy.Settled, crd, p.CSV()); err != nil {
				return err
			}
		}
	}
	csv := slices.IndexFunc(applied, func(o *unstructured.Unstructured) bool { return groupkind.Is(o, groupkind.ClusterServiceVersion) })
	if len(p.awaited) == 0 || csv < 0 {
		return nil
	}
	_, err := a.apply(ctx, deploy.Step{Object: p.steps[len(p.steps)-1].Object, Live: applied[csv], Action: deploy.Update})
	return err
}
