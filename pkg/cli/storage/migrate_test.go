package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var things = schema.GroupResource{Group: "example.com", Resource: "things"}

// cluster stores objects by name, in the version that its API server writes.
type cluster struct {
	mutex   sync.Mutex
	crd     *apiextensionsv1.CustomResourceDefinition
	writes  string // the version that the API server stores in: it learns late of a change
	late    int    // how often it is asked before it has learned
	silent  error  // why another API server does not report how it stores
	stored  map[string]string
	answers map[string]error // to a write, by name
	denies  bool             // each of these answers is admission's, and nothing has become of the object
	at      map[string]int   // the resourceVersion of an object, by name
	latest  int              // resourceVersion
	expires bool             // the token of the second page
	unread  error            // the answer to the second page
	between func()           // before the definition is read for the last time
	paging  func()           // before the second page is read

	frozen  error  // the answer of admission to every write of the definition
	rival   func() // another client, before each write of the definition
	reverts func() // admission, at each write of the definition
	rotates bool   // the certificate of the conversion webhook changes at each read of a page
	written int    // how often the definition was written, and an object by the command
	dies    int    // the write after which the command is killed
	kill    func()

	holds   time.Duration // how long admission holds the create of z, which began before the API server learned of a change
	lands   time.Time     // when z is stored; zero if it is not in flight
	others  bool          // kube-controller-manager has changed the status after a migration of another client
	migrate bool          // such a migration ends at each write of an object

	wrote []string // by the command
}

func newCluster(stored string, names ...string) *cluster {
	c := &cluster{crd: definition("v1", converted("ca"), "v1"), writes: "v1", late: 2, stored: map[string]string{}, answers: map[string]error{}, at: map[string]int{}, latest: 1}
	for _, name := range names {
		c.stored[name], c.at[name] = stored, 1
	}
	return c
}

func (c *cluster) Definition(context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	if c.between != nil && c.storedIn("v1") == "" {
		c.between()
		c.between = nil
	}
	return c.crd.DeepCopy(), nil
}

// land stores z, if its time has come, in the version in which the API server stored when it began.
func (c *cluster) land() {
	if !c.lands.IsZero() && !time.Now().Before(c.lands) {
		c.latest++
		c.stored["z"], c.at["z"], c.lands = "v1", c.latest, time.Time{}
	}
}

// trimmed is what kube-controller-manager does when a migration ends, whether it succeeded or failed.
func (c *cluster) trimmed() {
	c.others = true
	c.crd.Status.StoredVersions = []string{Stored(c.crd)}
	c.crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
	c.changed()
}

func (c *cluster) storedIn(version string) string {
	return strings.Join(c.names(func(name string) bool { return c.stored[name] == version }), " ")
}

func (c *cluster) names(matches func(string) bool) []string {
	return lists.Filter(slices.Sorted(maps.Keys(c.stored)), matches)
}

// write changes the definition as it was read; nil is another client's write.
func (c *cluster) write(crd *apiextensionsv1.CustomResourceDefinition, change func()) error {
	if c.frozen != nil {
		return c.frozen
	}
	if c.rival != nil && crd != nil {
		c.rival()
	}
	if crd != nil && crd.ResourceVersion != c.crd.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "customresourcedefinitions"}, crd.Name, errors.New("changed"))
	}
	change()
	if c.reverts != nil {
		c.reverts()
	}
	c.changed()
	if c.written++; c.written == c.dies {
		c.kill()
	}
	return nil
}

func (c *cluster) changed() {
	c.latest++
	c.crd.ResourceVersion = strconv.Itoa(c.latest)
}

func (c *cluster) Record(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	return c.write(crd, func() {
		c.crd.Annotations = map[string]string{wellknown.AnnotationStoredVersions: strings.Join(versions, ",")}
		if len(versions) == 0 {
			c.crd.Annotations = nil
		}
	})
}

func (c *cluster) Restore(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, versions []string) error {
	return c.write(crd, func() { c.crd.Status.StoredVersions = versions })
}

func (c *cluster) Store(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	return c.write(crd, func() { c.storage(version) })
}

func (c *cluster) storage(version string) {
	for i := range c.crd.Spec.Versions {
		c.crd.Spec.Versions[i].Storage = c.crd.Spec.Versions[i].Name == version
	}
	c.crd.Generation++
	c.crd.ManagedFields = []metav1.ManagedFieldsEntry{writtenAt(time.Now(), `{"f:spec":{}}`)}
	if !slices.Contains(c.crd.Status.StoredVersions, version) {
		c.crd.Status.StoredVersions = append(c.crd.Status.StoredVersions, version)
	}
}

func (c *cluster) Hashes(context.Context, *apiextensionsv1.CustomResourceDefinition, string) ([]string, error) {
	if c.silent != nil {
		return nil, c.silent
	}
	if c.late--; c.late < 0 {
		if c.holds > 0 && c.writes != Stored(c.crd) {
			c.lands = time.Now().Add(c.holds)
		}
		c.writes = Stored(c.crd)
	}
	return []string{Hash(c.crd, Stored(c.crd)), Hash(c.crd, c.writes)}, nil
}

func (c *cluster) Page(_ context.Context, _ *apiextensionsv1.CustomResourceDefinition, _, after string) (*unstructured.UnstructuredList, error) {
	c.land()
	if c.rotates {
		c.crd.Generation++
	}
	if c.expires && after != "" {
		c.expires = false
		err := apierrors.NewResourceExpired("too old")
		err.ErrStatus.Continue = after
		return nil, err
	}
	if c.unread != nil && after != "" {
		return nil, c.unread
	}
	if c.paging != nil && after != "" && Stored(c.crd) == "v2" {
		c.paging()
		c.paging = nil
	}
	names := c.names(func(name string) bool { return name > after })
	list := &unstructured.UnstructuredList{Items: lists.Map(names[:min(2, len(names))], c.object)}
	list.SetResourceVersion(strconv.Itoa(c.latest))
	if len(names) > 2 {
		list.SetContinue(names[1])
		list.SetRemainingItemCount(new(int64(len(names) - 2)))
	}
	return list, nil
}

func (c *cluster) object(name string) unstructured.Unstructured {
	o := unstructured.Unstructured{}
	o.SetName(name)
	o.SetResourceVersion(strconv.Itoa(c.at[name]))
	return o
}

func (c *cluster) store(name string) {
	if c.stored[name] != c.writes {
		c.latest++
		c.stored[name], c.at[name] = c.writes, c.latest
	}
}

func (c *cluster) Read(_ context.Context, _ *apiextensionsv1.CustomResourceDefinition, _ string, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.stored[o.GetName()] == "" {
		return nil, apierrors.NewNotFound(things, o.GetName())
	}
	return new(c.object(o.GetName())), nil
}

func (c *cluster) Write(_ context.Context, _ *apiextensionsv1.CustomResourceDefinition, _ string, o *unstructured.Unstructured) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.wrote = append(c.wrote, o.GetName())
	if c.written++; c.written == c.dies {
		defer c.kill()
	}
	if c.migrate {
		c.trimmed()
	}
	err := c.answers[o.GetName()]
	switch {
	case err != nil && c.denies:
	case err == nil, apierrors.IsConflict(err): // then another client wrote it
		c.store(o.GetName())
	case apierrors.IsNotFound(err):
		delete(c.stored, o.GetName())
	}
	return err
}

func (c *cluster) Trim(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition, only string) error {
	return c.write(crd, func() { c.crd.Status.StoredVersions, c.crd.Status.Conditions = []string{only}, nil })
}

func TestMigrate(t *testing.T) {
	objects := []string{"a", "b", "c", "d", "e"}
	denied := apierrors.NewForbidden(things, "c", errors.New("admission webhook denied the request"))
	denies := func(codes ...int32) func(*cluster) {
		return func(c *cluster) {
			c.denies = true
			for i, code := range codes {
				c.answers[objects[i]] = &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "w" denied the request: no`}}
			}
		}
	}
	tests := map[string]struct {
		prepare func(*cluster)
		err     string
		stored  string // status.storedVersions afterwards
		left    string // objects that are stored in v1 still
	}{
		"all is well":            {func(*cluster) {}, "", "v2", ""},
		"another client writes":  {func(c *cluster) { c.answers["b"] = apierrors.NewConflict(things, "b", nil) }, "", "v2", ""},
		"another client deletes": {func(c *cluster) { c.answers["b"] = apierrors.NewNotFound(things, "b") }, "", "v2", ""},
		"a token expires":        {func(c *cluster) { c.expires = true }, "", "v2", ""},
		"one is refused":         {func(c *cluster) { c.answers["c"] = denied }, "1 objects of things.example.com cannot be rewritten", "v1 v2", "c"},
		"denied as a conflict":   {denies(http.StatusConflict), "1 objects of things.example.com cannot be rewritten", "v1 v2", "a"},
		"denied as not found":    {denies(http.StatusNotFound), "a: admission webhook", "v1 v2", "a"},
		"denied with other codes": {denies(http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout),
			"4 objects of things.example.com cannot be rewritten", "v1 v2", "a b c d"},
		"the user is unknown": {func(c *cluster) { c.answers["a"] = apierrors.NewUnauthorized("who?"); c.denies = true }, "a: who?", "v1 v2", "a c d e"},
		"the API server ends": {func(c *cluster) { c.answers["c"] = errors.New("connection refused") }, "c: connection refused", "v1 v2", "c e"},
		"one cannot be read":  {func(c *cluster) { c.unread = errors.New("conversion webhook for things failed") }, "cannot all be read in v2, and the storage version is unchanged; repair what fails, such as its conversion webhook: conversion webhook for things failed", "v1", "a b c d e"},
		"one API server is silent": {func(c *cluster) { c.silent = errors.New("API server https://10.0.0.3:6443: connection refused") },
			"not every API server stores the objects of things.example.com in v2: API server https://10.0.0.3:6443: connection refused: nothing was rewritten. Run the command where each", "v1 v2", "a b c d e"},
		"API servers are not known":   {func(c *cluster) { c.silent = ErrNoAddresses }, "the Service default/kubernetes has no EndpointSlice with an address, so the number", "v1 v2", "a b c d e"},
		"one API server never learns": {func(c *cluster) { c.late = 1e6 }, "an API server still stores objects in another version: nothing was rewritten", "v1 v2", "a b c d e"},
		"another is made storage":     {func(c *cluster) { c.between = func() { c.storage("v1") } }, "was changed while its objects were rewritten", "v1 v2", ""},
		"another is for a moment": {func(c *cluster) {
			c.between = func() {
				c.storage("v1")
				c.stored["b"] = "v1"
				c.storage("v2")
			}
		}, "", "v2", ""},
		"its CA is replaced":         {func(c *cluster) { c.between = func() { c.crd.Generation++ } }, "", "v2", ""},
		"its conversion is removed":  {func(c *cluster) { c.paging = func() { c.crd.Generation++; c.crd.Spec.Conversion = nil } }, "has the conversion None", "v1 v2", "c d e"},
		"its conversion was away":    {func(c *cluster) { c.paging = func() { c.crd.Generation += 2 } }, "", "v2", ""},
		"the definition is replaced": {func(c *cluster) { c.between = func() { c.crd.UID = "other" } }, "was changed while its objects were rewritten", "v1 v2", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("v1", objects...)
				test.prepare(c)
				last := ""
				_, err := Migrate(t.Context(), c, "v2", time.Minute, func(p Progress) { last = p.Line })
				installtest.Error(t, test.err, err)
				if err == nil && last != "rewritten 5 of 5 objects" {
					t.Errorf("the last progress is %s", last)
				}
				installtest.Same(t, "stored versions", test.stored, strings.Join(c.crd.Status.StoredVersions, " "))
				installtest.Same(t, "stored in v1", test.left, c.storedIn("v1"))
				c.answers, c.unread, c.silent, c.late, c.crd.Spec.Conversion = nil, nil, nil, 0, converted("ca")
				if test.err == "" || strings.Contains(test.err, "changed") {
					return
				}
				_, err = Migrate(t.Context(), c, "v2", time.Minute, func(Progress) {})
				installtest.Must(t, err)
				installtest.Same(t, "stored versions of the second run", []string{"v2"}, c.crd.Status.StoredVersions)
			})
		})
	}
}

// An interruption is reported as such, not as a failure of a request.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &impatient{newCluster("v1", "a"), cancel}
		_, err := Migrate(ctx, c, "v2", time.Minute, func(Progress) {})
		installtest.Error(t, ": an API server still stores objects in another version: nothing was rewritten", err)
	})
}

// impatient is a cluster whose second request cancels the context.
type impatient struct {
	*cluster
	stop func()
}

func (c *impatient) Hashes(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, version string) ([]string, error) {
	if c.late < 2 {
		c.stop()
		return nil, ctx.Err()
	}
	return c.cluster.Hashes(ctx, crd, version)
}

// Without a version the objects are rewritten in the one that they are written in now.
func TestMigrateToStorageVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("v1", "a")
		c.crd = definition("v2", converted("ca"), "v1", "v2")
		_, err := Migrate(t.Context(), c, "", time.Minute, func(Progress) {})
		installtest.Must(t, err)
		installtest.Same(t, "stored in", "v2", c.stored["a"])
		installtest.Same(t, "stored versions", []string{"v2"}, c.crd.Status.StoredVersions)
	})
}

func TestProgress(t *testing.T) {
	for name, test := range map[string]struct {
		answers map[string]error
		want    string
	}{
		"all are rewritten": {nil, "0/5 1/5 2/5 2/5 3/5 4/5 4/5 5/5 5/5 final"},
		"one is refused":    {map[string]error{"c": apierrors.NewForbidden(things, "c", errors.New("denied"))}, "0/5 1/5 2/5 2/5 3/5 3/5 4/5 4/5 final"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("v1", "a", "b", "c", "d", "e")
				c.answers = test.answers
				var reports []string
				_, _ = Migrate(t.Context(), c, "v2", time.Minute, func(p Progress) {
					if p.All == 0 {
						return
					}
					reports = append(reports, fmt.Sprintf("%d/%d", p.Done, p.All))
					if p.Final {
						reports = append(reports, "final")
					}
				})
				installtest.Same(t, "reported", test.want, strings.Join(reports, " "))
			})
		})
	}
}

func TestRefusedError(t *testing.T) {
	e := &RefusedError{CRD: "things.example.com", Refusals: installtest.Times(25, func(i int) error {
		return fmt.Errorf("ns/%d: %w", i, &apierrors.StatusError{ErrStatus: metav1.Status{Message: "denied"}})
	})}
	if text := e.Error(); strings.Count(text, ": denied") != 25 || !strings.HasSuffix(text, "ns/24: denied") {
		t.Errorf("the text ends: %s", text[len(text)-60:])
	}
}
