"""Creates a patient and waits until the chart exists in the EMR."""
import json, os, sys
from chartwire import Chartwire, JobFailedError

# `npm start` writes this file. In production, take the credentials from your secret store.
with open(os.path.join(os.environ.get("DATA_DIR", "data"), "sandbox.json")) as file:
    sandbox = json.load(file)
client = Chartwire(
    base_url=sandbox["base_url"],
    client_id=sandbox["client_id"],
    client_secret=sandbox["client_secret"],
    access_token=sandbox["access_token"],
)
first_name, last_name = sys.argv[1:3] if len(sys.argv) > 2 else ("Robin", "Samplechart")
body = {"first_name": first_name, "last_name": last_name, "dob": "1990-01-31", "sex": "female"}
try:
    print("Created with MRN", client.patients.create_and_wait(body)["data"]["mrn"])
except JobFailedError as error:
    print(f"Not created ({error.code}): {error}")
