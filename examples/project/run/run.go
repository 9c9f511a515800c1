package run

// Run does what the night is for.
func Run(when string) {
	println("it is " + when)
}
