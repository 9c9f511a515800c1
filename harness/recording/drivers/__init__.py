"""Drivers, each of which sends requests to one kind of provider while the answers are recorded. A
`harness.providers.Provider` names its driver.
"""
