package calls

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// The metrics of API servers. They have the same names and labels in Kubernetes 1.34 to 1.37.
const (
	metricStarted   = "process_start_time_seconds"
	metricPrefix    = "apiserver_admission_webhook_"
	metricCalls     = metricPrefix + "request_total"
	metricRejected  = metricPrefix + "rejection_count"
	metricOpen      = metricPrefix + "fail_open_count"
	metricDurations = metricPrefix + "admission_duration_seconds_bucket"
)

const (
	// maxBytes limits how much of an answer is read. Large clusters have 20 MB.
	maxBytes = 128 << 20
	// maxLine is longer than any line with labels of a webhook: a name has at most 253 bytes.
	maxLine = 64 << 10
)

// errTooLarge is returned for metrics of which not all lines were read.
var errTooLarge = fmt.Errorf("the metrics have more than %d MiB", maxBytes>>20)

// Read reads the metrics of an API server, and keeps what it counted for the given webhooks. Other lines are skipped without
// being parsed: there can be a hundred thousand of them.
func Read(metrics io.Reader, webhooks map[Webhook]bool) (Reading, error) {
	limited := &io.LimitedReader{R: metrics, N: maxBytes}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	p := parser{wanted: webhooks, found: map[Webhook]*Counters{}}
	for lines.Scan() {
		if line := lines.Bytes(); bytes.HasPrefix(line, []byte(metricPrefix)) || bytes.HasPrefix(line, []byte(metricStarted)) {
			if err := p.line(string(line)); err != nil {
				return Reading{}, err
			}
		}
	}
	switch {
	case lines.Err() != nil:
		return Reading{}, lines.Err()
	case limited.N == 0:
		return Reading{}, errTooLarge
	case p.started == 0:
		return Reading{}, errors.New("the metrics lack " + metricStarted)
	}
	return p.reading(), nil
}

// DeclaredName returns the name of a webhook as its operator declares it. While requests of some pass, a second webhook with a
// prefix before the name gets them, so the calls of both are those of one webhook.
func DeclaredName(name string) string { return strings.TrimPrefix(name, wellknown.OpenWebhookPrefix) }

type parser struct {
	wanted  map[Webhook]bool
	found   map[Webhook]*Counters
	started float64
}

func (p *parser) line(line string) error {
	name, labels, value, err := parseSample(line)
	if err != nil {
		return fmt.Errorf("the line %q of the metrics cannot be read: %w", line, err)
	}
	if name == metricStarted {
		p.started = value
		return nil
	}
	of := Webhook{Step(labels["type"]), labels["name"]}
	if !p.wanted[of] {
		of.Name = DeclaredName(of.Name)
	}
	if !p.wanted[of] {
		return nil
	}
	c := p.found[of]
	if c == nil {
		c = &Counters{}
		p.found[of] = c
	}
	return c.add(name, labels, value)
}

// add adds the value of one series.
func (c *Counters) add(name string, labels map[string]string, value float64) error {
	switch name {
	case metricCalls:
		c.Calls += value
		if labels["code"] == "200" {
			c.Answered += value
		}
	case metricRejected:
		switch kind := labels["error_type"]; kind {
		case refusedByWebhook:
			c.Answered += value
		case notCalled:
			reason := kind + ", code " + labels["rejection_code"]
			put(&c.Failed, reason, c.Failed[reason]+value)
		}
	case metricOpen:
		put(&c.Failed, passed, c.Failed[passed]+value)
	case metricDurations:
		bound, err := strconv.ParseFloat(labels["le"], 64)
		if err != nil {
			return err
		}
		c.addBucket(Bucket{bound, value})
	}
	return nil
}

// Values of the label error_type, which show whether the webhook answered. With the third one, apiserver_internal_error, the
// webhook is not called: for example, it does not support a dry run.
const (
	refusedByWebhook = "no_error"
	notCalled        = "calling_webhook_error"
)

// passed is the error of a call whose request is admitted nevertheless. The API server counts no code for it.
const passed = "no answer, and the request passes because failurePolicy is Ignore"

func (c *Counters) addBucket(b Bucket) {
	i, found := slices.BinarySearchFunc(c.Buckets, b.Bound, func(b Bucket, bound float64) int { return cmp.Compare(b.Bound, bound) })
	if found {
		c.Buckets[i].Count += b.Count
		return
	}
	c.Buckets = slices.Insert(c.Buckets, i, b)
}

func (p *parser) reading() Reading {
	r := Reading{Started: p.started, Webhooks: make(map[Webhook]Counters, len(p.found))}
	for of, c := range p.found {
		r.Webhooks[of] = *c
	}
	return r
}
