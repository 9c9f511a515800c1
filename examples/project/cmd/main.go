package main

import "example.com/project/run"

func main() {
	run.Run("night")
}
