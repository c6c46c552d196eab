package calls

import "math"

// Percentile99 returns in how many seconds 99 % of the calls were over. It is estimated as Prometheus does: calls are spread
// evenly over the bucket. The last bucket has no end, so calls in it count as its start. Without calls, it is 0.
func (c Counters) Percentile99() float64 {
	if len(c.Buckets) == 0 {
		return 0
	}
	rank := 0.99 * c.Buckets[len(c.Buckets)-1].Count
	var before Bucket
	for _, b := range c.Buckets {
		switch {
		case b.Count < rank || b.Count == 0:
			before = b
			continue
		case math.IsInf(b.Bound, 1):
			return before.Bound
		default:
			return before.Bound + (b.Bound-before.Bound)*(rank-before.Count)/(b.Count-before.Count)
		}
	}
	return 0
}
