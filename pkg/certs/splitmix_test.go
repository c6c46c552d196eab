package certs

// splitMix64 is a random number generator. The same seed gives the same numbers, so that a failure
// can be reproduced.
type splitMix64 struct{ state uint64 }

func (d *splitMix64) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intN returns a number from 0 to n-1.
func (d *splitMix64) intN(n int) int { return int(d.next() % uint64(n)) }

// percent returns true in p of 100 cases.
func (d *splitMix64) percent(p int) bool { return d.intN(100) < p }
