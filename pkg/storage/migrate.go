package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Cluster is what a migration needs of one.
type Cluster interface {
	// Definition reads the CustomResourceDefinition, live.
	Definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error)
	// Store makes a version the storage version of the definition that was read, if it
	// is that still.
	Store(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error
	// Hashes are what each API server says about how it stores the objects now.
	Hashes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]string, error)
	// Page reads some objects in a version: those after the token of the page before.
	Page(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version, after string) (*unstructured.UnstructuredList, error)
	// Read reads an object again.
	Read(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Write writes an object as it was read, if it is that still.
	Write(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) error
	// Forget makes a version the only one that objects of the definition that was read are
	// said to be stored in, if it is that still.
	Forget(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, only string) error
	Migrator
}

// Progress is how far a migration is.
type Progress struct {
	Line      string // in words
	Done, All int    // objects that are rewritten, of all there are; 0 where the cluster does it, which tells no numbers
	Final     bool   // a line that is not gives way to the next
}

// Tell is told how far a migration is, by one goroutine at a time.
type Tell func(Progress)

// Refusal is an object that could not be rewritten.
type Refusal struct {
	Object string
	Err    error
}

// RefusedError says which objects are still stored as they were, because something
// refuses to write them. status.storedVersions is left as it is.
type RefusedError struct {
	CRD      string
	Refusals []Refusal
}

func (e *RefusedError) Error() string {
	lines := []string{fmt.Sprintf("%d objects of %s cannot be rewritten, and status.storedVersions stays as it is: mend them, or what refuses them, and run the command again", len(e.Refusals), e.CRD)}
	for _, r := range e.Refusals {
		lines = append(lines, "  "+r.Object+": "+r.Err.Error())
	}
	return strings.Join(lines, "\n")
}

// writers is how many objects are written side by side.
const writers = 8

// Migrate rewrites all objects in a version, or in the present storage version when to is
// empty, and returns how many. When it returns no error, no object is stored in another.
func Migrate(ctx context.Context, c Cluster, to string, tell Tell) (rewritten int, err error) {
	crd, err := c.Definition(ctx)
	if err != nil {
		return 0, err
	}
	if to == "" {
		to = Stored(crd)
	}
	for {
		step, err := Next(crd, to)
		if err != nil {
			return rewritten, err
		}
		switch step {
		case Done:
			return rewritten, nil
		case MakeStorage:
			if err := readable(ctx, c, crd, to); err != nil {
				return rewritten, err
			}
			err = c.Store(ctx, crd, to)
		case Rewrite:
			rewritten, err = rewrite(ctx, c, crd, to, tell)
		}
		if errors.Is(err, errChanged) {
			tell(Progress{Line: fmt.Sprintf("%s was changed meanwhile, such as by a rotation of its certificate: all objects once more", crd.Name), Final: true})
		} else if err != nil && !apierrors.IsConflict(err) {
			return rewritten, err
		}
		if crd, err = c.Definition(ctx); err != nil {
			return rewritten, err
		}
	}
}

// readable reads all objects in a version before anything is changed: one that cannot be
// converted to it could not be rewritten either, and what is written meanwhile would be stored so.
func readable(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	for after := ""; ; {
		page, err := c.Page(ctx, crd, version, after)
		if token, expired := continued(err); expired {
			after = token
			continue
		}
		if err != nil {
			return fmt.Errorf("the objects of %s cannot all be read in %s, and nothing was changed; mend what fails, such as its conversion webhook: %w", crd.Name, version, err)
		}
		if after = page.GetContinue(); after == "" {
			return nil
		}
	}
}

// rewrite writes all objects and forgets the other versions, if the definition was the same from
// beginning to end.
func rewrite(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, tell Tell) (int, error) {
	if err := known(ctx, c, crd, to); err != nil {
		return 0, err
	}
	since, err := migrated(ctx, c, crd, to, tell)
	if err != nil {
		return 0, err
	}
	n, err := rewriteAll(ctx, c, crd, to, since, tell)
	if err != nil {
		return n, err
	}
	now, err := unchanged(ctx, c, crd, to)
	if err != nil {
		return n, err
	}
	return n, c.Forget(ctx, now, to)
}

// errChanged says that a definition is not what it was when its objects began to be rewritten,
// though it stores them in the version that is wanted: what was read since then may have been
// converted otherwise, or not at all, and what was written may be stored otherwise.
var errChanged = errors.New("the definition was changed while its objects were rewritten")

// unchanged is the definition as it is now, if it is what it was.
func unchanged(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) (*apiextensionsv1.CustomResourceDefinition, error) {
	now, err := c.Definition(ctx)
	switch {
	case err != nil:
		return nil, err
	case now.UID != crd.UID, Stored(now) != to:
		return nil, fmt.Errorf("%s was changed while its objects were rewritten: nothing was forgotten, run the command again", crd.Name)
	case now.Generation != crd.Generation:
		return nil, errChanged
	default:
		return now, nil
	}
}

// agreement is how often every API server has to say so before it is believed: what it
// says and what it does are two parts of it that learn of a change one after the other.
const agreement = 10

// known waits until every API server stores objects in the version. One that does not
// yet would store an object, just rewritten, in the version before.
func known(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) error {
	doubt, agreed := "", 0
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		agreed++
		if now := doubtful(ctx, c, crd, to); now != "" {
			agreed = 0
			if ctx.Err() == nil { // else it tells only that nobody waits for the answer any more
				doubt = now
			}
		}
		return agreed == agreement, nil
	})
	if err != nil {
		return fmt.Errorf("not every API server stores the objects of %s in %s: %s: nothing was rewritten. Run the command where each of them can be reached by its own address, such as in a pod", crd.Name, to, doubt)
	}
	return nil
}

// doubtful says why it is not known that every API server stores objects in the version;
// empty when they all say so. One that restarts answers later.
func doubtful(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) string {
	hashes, err := c.Hashes(ctx, crd, to)
	if err != nil {
		return err.Error()
	}
	if slices.ContainsFunc(hashes, func(hash string) bool { return hash != Hash(crd, to) }) {
		return "an API server still stores objects in another version"
	}
	return ""
}

// rewriteAll writes all objects that nobody has written since a resourceVersion; all, when it is empty.
func rewriteAll(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to, since string, tell Tell) (int, error) {
	refused, count := &RefusedError{CRD: crd.Name}, &tally{tell: tell}
	for after := ""; ; {
		page, err := c.Page(ctx, crd, to, after)
		if token, expired := continued(err); expired {
			after = token
			continue
		}
		if err != nil {
			return count.done, err
		}
		if _, err := unchanged(ctx, c, crd, to); err != nil {
			return count.done, err
		}
		rest := slices.DeleteFunc(slices.Clone(page.Items), func(o unstructured.Unstructured) bool { return writtenSince(&o, since) })
		count.all = count.done + len(refused.Refusals) + len(page.Items)
		if left := page.GetRemainingItemCount(); left != nil {
			count.all += int(*left)
		}
		count.add(len(page.Items) - len(rest))
		refusals, err := rewritePage(ctx, c, crd, to, rest, count)
		if err != nil {
			return count.done, err
		}
		refused.Refusals = append(refused.Refusals, refusals...)
		if after = page.GetContinue(); after == "" {
			break
		}
	}
	count.end()
	if len(refused.Refusals) > 0 {
		return count.done, refused
	}
	return count.done, nil
}

// writtenSince tells whether an object is newer than a resourceVersion. Where versions cannot be
// compared it is written once more, which does no harm.
func writtenSince(o *unstructured.Unstructured, since string) bool {
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), since)
	return err == nil && order > 0
}

// continued is the token with which to go on where one has expired: what is read from
// then on is newer than what was read before, and whatever was written in between is
// stored as it should be.
func continued(err error) (token string, expired bool) {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return "", false
	}
	token = status.Status().Continue
	return token, token != ""
}

// rewritePage writes some objects side by side.
func rewritePage(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, objects []unstructured.Unstructured, count *tally) ([]Refusal, error) {
	results := make([]error, len(objects))
	next := make(chan int)
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range next {
				if results[i] = rewriteOne(ctx, c, crd, to, &objects[i]); results[i] == nil {
					count.add(1)
				}
			}
		})
	}
	for i := range objects {
		next <- i
	}
	close(next)
	group.Wait()
	var refusals []Refusal
	for i, err := range results {
		switch {
		case err == nil:
		case refuses(err):
			refusals = append(refusals, Refusal{Object: nameOf(&objects[i]), Err: err})
		default:
			return nil, fmt.Errorf("%s: %w", nameOf(&objects[i]), err)
		}
	}
	return refusals, nil
}

// rewriteOne writes an object. What somebody else has written or deleted since it was read needs
// no writing any more; but admission may deny with the same codes, and then the object is still
// what it was.
func rewriteOne(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, object *unstructured.Unstructured) error {
	err := c.Write(ctx, crd, to, object)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	now, failure := c.Read(ctx, crd, to, object)
	switch {
	case apierrors.IsNotFound(failure):
		return nil
	case failure != nil:
		return failure
	case now.GetResourceVersion() != object.GetResourceVersion():
		return nil
	default:
		return err
	}
}

// refuses tells an answer about this object; another, such as that the API server is
// not there, is one about all of them, unless it is admission's: a webhook denies with any
// code. One that does not answer gives an internal error.
func refuses(err error) bool {
	if apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "denied request")
	}
	return isStatus(err)
}

func isStatus(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

func nameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
