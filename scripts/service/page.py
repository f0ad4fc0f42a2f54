#!/usr/bin/env python3
"""Uses the page in headless Chromium with the keyboard and takes screenshots to look at.

    SIZEWISE=target/release/sizewise scripts/service/page.py FOLDER     (needs chromium, chromium-driver, selenium)
"""
import pathlib
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from served import ROOT, Service

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(exist_ok=True)
options = webdriver.ChromeOptions()
for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1250", "--hide-scrollbars"]:
    options.add_argument(argument)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
browser = webdriver.Chrome(options=options, service=Driver("/usr/bin/chromedriver"))
wait = WebDriverWait(browser, 20)


def by_id(name):
    return browser.find_element(By.ID, name)


def verdict():
    return wait.until(lambda b: b.find_elements(By.ID, "verdict"))[0].text


def focused():
    return browser.switch_to.active_element.get_attribute("id")


try:
    with Service() as service:
        here = f"http://127.0.0.1:{service.port}"
        browser.get(here)
        by_id("program").send_keys(str(ROOT / "examples/area.pt2"))
        by_id("spec").send_keys((ROOT / "examples/area.json").read_text())
        # From the spec with the keyboard alone: Tab to the button, Enter.
        by_id("spec").send_keys(Keys.TAB)
        assert focused() == "check", focused()
        browser.switch_to.active_element.send_keys(Keys.ENTER)
        assert verdict() == "violated"
        browser.save_screenshot(str(folder / "page-violated.png"))
        dim = browser.find_elements(By.CSS_SELECTOR, "button.dim")[0]
        dim.send_keys(Keys.ENTER)
        assert dim.get_attribute("aria-pressed") == "true"
        why = by_id("why").text
        assert "from" in why and "speak of it" in why and "p*q <= 999" in why, why
        assert "[object" not in browser.find_element(By.TAG_NAME, "body").text
        browser.save_screenshot(str(folder / "page-why.png"))
        # A wrong spec is said in words.
        by_id("spec").clear()
        by_id("spec").send_keys("{")
        by_id("check").click()
        wait.until(lambda b: "spec" in by_id("state").text.lower() and by_id("state").get_attribute("class") == "problem")
        # Guards, by arrow keys.
        by_id("tab-program").send_keys(Keys.ARROW_RIGHT)
        assert focused() == "tab-guards" and by_id("guards").is_displayed()
        by_id("guards").send_keys("Eq(Mod(s0, 8), 0)\ns0 >= 8\ns0 >= 4")
        by_id("symbols").send_keys("s0: 2..64")
        by_id("goal").send_keys("Eq(8*(s0//8), s0)" + Keys.ENTER)
        assert verdict() == "implied"
        browser.save_screenshot(str(folder / "page-guards.png"))
        by_id("minimize").click()
        wait.until(lambda b: "left out" in by_id("view").text)
        # Nothing was asked of anybody else.
        asked = browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert all(name.startswith((here, "data:")) for name in asked), asked
        # Dark, narrow, and a program that is served.
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        browser.get(here)
        by_id("program").send_keys(str(ROOT / "examples/bert.pt2"))
        by_id("spec").send_keys((ROOT / "examples/bert.json").read_text())
        by_id("check").click()
        assert verdict() == "ok"
        browser.save_screenshot(str(folder / "page-dark.png"))
        browser.set_window_size(520, 1100)
        browser.save_screenshot(str(folder / "page-narrow.png"))
        browser.get(here + "/docs")
        assert len(browser.find_elements(By.CSS_SELECTOR, "details")) > 10
        complaints = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE" and "422" not in entry["message"]]
        assert not complaints, complaints
        print("the page works with the keyboard and asks nobody else; look at the screenshots in", folder)
finally:
    browser.quit()
