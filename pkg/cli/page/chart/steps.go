package chart

import (
	"cmp"
	"slices"
	"time"
)

const minutes = "15:04"

// step is the distance of round times: a duration, or a number of months. Exact is the format of other times.
type step struct {
	length        time.Duration
	months        int
	format, exact string
}

const aDay = 24 * time.Hour

var steps = []step{
	{length: time.Second, format: time.TimeOnly, exact: time.TimeOnly},
	{length: 2 * time.Second, format: time.TimeOnly, exact: time.TimeOnly},
	{length: 5 * time.Second, format: time.TimeOnly, exact: time.TimeOnly},
	{length: 10 * time.Second, format: time.TimeOnly, exact: time.TimeOnly},
	{length: 30 * time.Second, format: time.TimeOnly, exact: time.TimeOnly},
	{length: time.Minute, format: minutes, exact: time.TimeOnly},
	{length: 2 * time.Minute, format: minutes, exact: time.TimeOnly},
	{length: 5 * time.Minute, format: minutes, exact: time.TimeOnly},
	{length: 10 * time.Minute, format: minutes, exact: time.TimeOnly},
	{length: 30 * time.Minute, format: minutes, exact: minutes},
	{length: time.Hour, format: minutes, exact: minutes},
	{length: 2 * time.Hour, format: minutes, exact: minutes},
	{length: 6 * time.Hour, format: minutes, exact: minutes},
	{length: 12 * time.Hour, format: minutes, exact: minutes},
	{length: aDay, format: time.DateOnly, exact: time.DateOnly},
	{length: 2 * aDay, format: time.DateOnly, exact: time.DateOnly},
	{length: 7 * aDay, format: time.DateOnly, exact: time.DateOnly},
	{months: 1, format: time.DateOnly, exact: time.DateOnly},
	{months: 3, format: time.DateOnly, exact: time.DateOnly},
	{months: 12, format: "2006", exact: time.DateOnly},
	{months: 60, format: "2006", exact: "2006"},
	{months: 120, format: "2006", exact: "2006"},
	{months: 1200, format: "2006", exact: "2006"},
}

// tickDistance is the least distance of two round times.
const tickDistance = 80

// stepOf returns the smallest step whose labels fit.
func stepOf(s segment) step {
	least := secondsFrom(s.from, s.to) * min(tickDistance/s.width, 1)
	i := slices.IndexFunc(steps, func(one step) bool { return one.duration().Seconds() >= least })
	if i < 0 {
		return steps[len(steps)-1]
	}
	return steps[i]
}

func (s step) duration() time.Duration {
	const month = 30 * aDay
	return cmp.Or(s.length, time.Duration(s.months)*month)
}

// first is the first round time after another time.
func (s step) first(after time.Time) time.Time {
	after = after.UTC()
	if s.months == 0 {
		return after.Truncate(s.length).Add(s.length)
	}
	month := after.Year()*12 + int(after.Month()) - 1
	month -= month % s.months
	return time.Date(0, time.January+time.Month(month), 1, 0, 0, 0, 0, time.UTC).AddDate(0, s.months, 0)
}

func (s step) next(at time.Time) time.Time {
	if s.months == 0 {
		return at.Add(s.length)
	}
	return at.AddDate(0, s.months, 0)
}
