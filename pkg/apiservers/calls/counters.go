// Package calls decides from the metrics of API servers whether their calls reach webhooks. It is pure.
package calls

// Webhook identifies what an API server counts together: the metrics have the name of a webhook, and no configuration.
type Webhook struct {
	Step Step
	Name string
}

// Step is the step of admission that calls a webhook, as the label type has it.
type Step string

// The steps.
const (
	Mutating   Step = "admit"
	Validating Step = "validating"
)

// Counters are what an API server has counted for a webhook since its process started.
type Counters struct {
	Calls    float64
	Answered float64 // with a verdict about the request
	// Failed counts the calls without a verdict, by the error.
	Failed map[string]float64
	// Buckets are those of the durations of all calls, ordered by their bounds.
	Buckets []Bucket
}

// Bucket counts the calls that took at most Bound seconds.
type Bucket struct{ Bound, Count float64 }

// Reading is what one request for the metrics of an API server returned.
type Reading struct {
	// Started is when the process started, in seconds since 1970. It identifies the process.
	Started  float64
	Webhooks map[Webhook]Counters
}

// since returns what was counted after an earlier reading of the same process. ok is false if a counter went down.
func (c Counters) since(earlier Counters) (counted Counters, ok bool) {
	counted = Counters{Calls: c.Calls - earlier.Calls, Answered: c.Answered - earlier.Answered}
	ok = counted.Calls >= 0 && counted.Answered >= 0
	for reason, count := range c.Failed {
		if more := count - earlier.Failed[reason]; more != 0 {
			put(&counted.Failed, reason, more)
			ok = ok && more > 0
		}
	}
	for i, b := range c.Buckets {
		if i < len(earlier.Buckets) && earlier.Buckets[i].Bound == b.Bound {
			b.Count -= earlier.Buckets[i].Count
		}
		counted.Buckets = append(counted.Buckets, b)
		ok = ok && b.Count >= 0
	}
	return counted, ok
}

// failed returns how many calls failed, and the most frequent error.
func (c Counters) failed() (total float64, reason string) {
	for one, count := range c.Failed {
		total += count
		if most := c.Failed[reason]; reason == "" || count > most || count == most && one < reason {
			reason = one
		}
	}
	return total, reason
}

func put(m *map[string]float64, key string, value float64) {
	if *m == nil {
		*m = map[string]float64{}
	}
	(*m)[key] = value
}
