package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// checkReadable reads all objects before anything is changed. Objects that are written meanwhile would be stored in a
// version to which they cannot be converted.
func checkReadable(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, version string) error {
	err := eachPage(ctx, c, crd, version, func(*unstructured.UnstructuredList) error { return nil })
	if err != nil {
		return fmt.Errorf("the objects of %s cannot all be read in %s, and the storage version is unchanged; repair what fails, such as its conversion webhook: %w", crd.Name, version, err)
	}
	return nil
}

func eachPage(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, version string, do func(*unstructured.UnstructuredList) error) error {
	for after := ""; ; {
		page, err := c.Page(ctx, crd, version, after)
		if token, expired := nextToken(err); expired {
			after = token
			continue
		}
		if err != nil {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		if after = page.GetContinue(); after == "" {
			return nil
		}
	}
}

// rewriteAll writes all objects. No request may be in flight that began under an earlier revision.
func rewriteAll(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, report ReportFunc) (int, error) {
	refused, count := &RefusedError{CRD: crd.Name}, &counter{report: report}
	err := eachPage(ctx, c, crd, to, func(page *unstructured.UnstructuredList) error {
		if err := unchanged(ctx, c, crd, to); err != nil {
			return err
		}
		count.all = count.done + len(refused.Refusals) + len(page.Items)
		if left := page.GetRemainingItemCount(); left != nil {
			count.all += int(*left)
		}
		count.add(0, false)
		refusals, err := rewritePage(ctx, c, crd, to, page.Items, count)
		refused.Refusals = append(refused.Refusals, refusals...)
		return err
	})
	if err != nil {
		return count.done, err
	}
	count.add(0, true)
	if len(refused.Refusals) > 0 {
		return count.done, refused
	}
	return count.done, nil
}

// nextToken returns the token with which to continue the list after a token has expired. The rest of
// the list is newer than the pages before. rewriteAll needs no object that was written in between
// to an earlier page: no request is in flight that would store it in another version.
func nextToken(err error) (token string, expired bool) {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return "", false
	}
	token = status.Status().Continue
	return token, token != ""
}

func rewritePage(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, objects []unstructured.Unstructured, count *counter) (refusals []error, err error) {
	results := make([]error, len(objects))
	// Each object has a result: after the end of ctx it is the error of rewriteOne.
	workqueue.ParallelizeUntil(context.Background(), writers, len(objects), func(i int) {
		if results[i] = rewriteOne(ctx, c, crd, to, &objects[i]); results[i] == nil {
			count.add(1, false)
		}
	})
	for i, err := range results {
		switch named := fmt.Errorf("%s: %w", cache.MetaObjectToName(&objects[i]), err); {
		case err == nil:
		case isRefusal(err):
			refusals = append(refusals, named)
		default:
			return nil, named
		}
	}
	return refusals, nil
}

// rewriteOne writes an object. An object that another client has written since it was read is stored
// in the version. Admission may deny with the same codes. Then the object is unchanged.
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

// isRefusal reports whether an error is about one object. Admission denies with any code; other errors with these codes
// are about all objects. A webhook that does not answer gives an internal error.
func isRefusal(err error) bool {
	if apierrors.IsUnauthorized(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) {
		return strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "denied request")
	}
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

type counter struct {
	mutex     sync.Mutex
	done, all int
	report    ReportFunc
}

func (t *counter) add(n int, final bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.done += n
	t.report(Progress{Line: fmt.Sprintf("rewritten %d of %d objects", t.done, t.all), Done: t.done, All: t.all, Final: final})
}
