package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
)

// Cluster is what a migration needs of one.
type Cluster interface {
	Definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error)
	// Record sets the annotation with the versions in which objects may be stored; none deletes
	// it. This write and the next three are refused if the definition has changed since it was read.
	Record(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error
	// Restore sets status.storedVersions.
	Restore(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error
	Store(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error
	// Hashes are what each API server reports about how it stores the objects now.
	Hashes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]string, error)
	// Page reads some objects in a version: those after the token of the page before.
	Page(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version, after string) (*unstructured.UnstructuredList, error)
	Read(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Write writes an object as it was read, if it is that still.
	Write(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) error
	// Trim sets status.storedVersions to one version, and deletes the condition of StorageVersionMigrations.
	Trim(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, only string) error
}

// Progress is the progress of a migration.
type Progress struct {
	Line      string // in words
	Done, All int    // objects that are rewritten, of all there are; 0 in other lines
	Final     bool   // a line that is not gives way to the next
}

// ReportFunc receives the progress of a migration, from one goroutine at a time.
type ReportFunc func(Progress)

// RefusedError lists the objects that are still stored as they were.
type RefusedError struct {
	CRD      string
	Refusals []error // one for each object
}

func (e *RefusedError) Error() string {
	lines := []string{fmt.Sprintf("%d objects of %s cannot be rewritten, and status.storedVersions keeps the versions in which they may be stored: repair them, or what refuses them, and run the command again", len(e.Refusals), e.CRD)}
	for _, r := range e.Refusals {
		lines = append(lines, "  "+r.Error())
	}
	return strings.Join(lines, "\n")
}

const writers = 8

// maxAttempts limits repetitions: another client may change the definition each time, or a write has no effect.
const maxAttempts = 10

type migration struct {
	Cluster
	to             string
	requestTimeout time.Duration
	report         ReportFunc
	read           revision // of the definition that was read last
	changed        bool     // this run has read more than one revision
	agreed         revision // that every API server stores objects by, and no request uses an earlier one
	rewritten      revision // under which every object was rewritten
	count          int      // objects rewritten

	attempts map[step]int
	conflict error  // the answer to the last write of the definition, if it was a conflict
	at       string // the resourceVersion that was written under
}

// Result is what a run did.
type Result struct {
	Version   string // in which all objects are stored, if there was no error
	Rewritten int
}

// Migrate rewrites all objects in a version (default: the storage version). Without an error, none is stored in another.
// requestTimeout is the longest time that an API server works on a request.
func Migrate(ctx context.Context, c Cluster, to string, requestTimeout time.Duration, report ReportFunc) (Result, error) {
	m := &migration{Cluster: c, to: to, requestTimeout: requestTimeout, report: report, attempts: map[step]int{}}
	for {
		crd, err := c.Definition(ctx)
		if err != nil {
			return Result{m.to, m.count}, err
		}
		if m.to == "" {
			m.to = Stored(crd)
		}
		m.changed = m.changed || m.read != revision{} && m.read != revisionOf(crd)
		m.read = revisionOf(crd)
		step, err := next(crd, m.to, m.rewritten)
		if err != nil || step == done {
			return Result{m.to, m.count}, err
		}
		if err := m.checkRepeat(crd, step); err != nil {
			return Result{m.to, m.count}, err
		}
		if err := m.execute(ctx, crd, step); err != nil {
			return Result{m.to, m.count}, err
		}
	}
}

// checkRepeat: a conflict although the definition is unchanged is a denial by admission.
func (m *migration) checkRepeat(crd *apiextensionsv1.CustomResourceDefinition, step step) error {
	m.attempts[step]++
	switch {
	case m.conflict != nil && m.at == crd.ResourceVersion:
		return fmt.Errorf("CustomResourceDefinition %s is refused by admission (%s): %w", crd.Name, step, m.conflict)
	case m.attempts[step] <= maxAttempts:
		return nil
	case m.conflict != nil:
		return fmt.Errorf("CustomResourceDefinition %s is changed by another client at each of %d attempts (%s): run the command again when the other client is done: %w", crd.Name, maxAttempts, step, m.conflict)
	default:
		return fmt.Errorf("CustomResourceDefinition %s: %d attempts had no effect (%s): another client, or admission, changes it at once; see its managedFields", crd.Name, maxAttempts, step)
	}
}

// execute does one step. It returns no error if the next step has to be decided again.
func (m *migration) execute(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, step step) (err error) {
	possible := storedversions.Possible(crd)
	switch step {
	case record:
		if !slices.Contains(possible, m.to) {
			possible = append(possible, m.to)
		}
		err = m.Record(ctx, crd, possible)
	case restore:
		err = m.Restore(ctx, crd, possible)
	case setStorage:
		if err := checkReadable(ctx, m, crd, m.to); err != nil {
			return err
		}
		err = m.Store(ctx, crd, m.to)
	case rewrite:
		return m.rewrite(ctx, crd)
	case trim:
		err = m.Trim(ctx, crd, m.to)
	case complete:
		err = m.Record(ctx, crd, nil)
	case done:
	}
	if m.conflict, m.at = nil, ""; apierrors.IsConflict(err) {
		m.conflict, m.at, err = err, crd.ResourceVersion, nil
	}
	return err
}

func (m *migration) rewrite(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	if err := m.agree(ctx, crd); err != nil {
		return err
	}
	n, err := rewriteAll(ctx, m, crd, m.to, m.report)
	m.count = n
	if err == nil {
		err = unchanged(ctx, m, crd, m.to)
	}
	if errors.Is(err, errChanged) {
		m.report(Progress{Line: fmt.Sprintf("%s was changed meanwhile, such as by a rotation of its certificate: all objects are rewritten again", crd.Name), Final: true})
		return nil
	}
	if err == nil {
		m.rewritten = revisionOf(crd)
	}
	return err
}

// agree waits until every API server stores objects by this revision of the definition, and has
// finished the requests that began under an earlier one.
func (m *migration) agree(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	if m.agreed == revisionOf(crd) {
		return nil
	}
	late, err := waitForServers(ctx, m, crd, m.to)
	if err != nil {
		return err
	}
	if err := waitForRequests(ctx, crd, requestsEnd(crd, late || m.changed, time.Now(), m.requestTimeout), m.report); err != nil {
		return err
	}
	m.agreed = revisionOf(crd)
	return nil
}

// errChanged is about a change that keeps the storage version: objects may have been read or written in another way.
var errChanged = errors.New("the definition was changed while its objects were rewritten")

func unchanged(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) error {
	now, err := c.Definition(ctx)
	switch {
	case err != nil:
		return err
	case now.UID != crd.UID, Stored(now) != to:
		return fmt.Errorf("%s was changed while its objects were rewritten: run the command again", crd.Name)
	case now.Generation != crd.Generation:
		return errChanged
	default:
		return nil
	}
}
